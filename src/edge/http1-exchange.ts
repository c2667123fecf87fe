import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { AnswerHead, Exchange, Fields, RequestBody, VisitorConnection } from './engine.ts'
import type { RequestHead } from './http1-head.ts'
import { page, sendPage } from './pages.ts'
import { DISCARDED_BYTES_MAX, DISCARDING_MS_MAX } from './request-limits.ts'

type Http1Parts = {
  request: IncomingMessage
  response: ServerResponse
  head: RequestHead
  connection: VisitorConnection
  expectsContinue: boolean
  /** Asked when the answer begins: whether the connection ends with it. */
  isLast(): boolean
  /** How long the visitor may take to read the last bytes of an answer. */
  lastBytesMs: number
  /** With an upgrade: what the visitor sent behind the request. */
  behind?: Buffer
}

/** A visitor's request over HTTP/1.1 or 1.0. */
export class Http1Exchange implements Exchange {
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1'
  readonly connection: VisitorConnection
  readonly method: string
  readonly target: string
  readonly authority: string
  readonly fields: Fields
  readonly body: RequestBody | undefined
  readonly expectsContinue: boolean
  readonly upgrade: string | undefined
  bytesSent = 0
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #behind: Buffer | undefined
  readonly #isLast: () => boolean
  readonly #lastBytesMs: number

  constructor({ request, response, head, connection, expectsContinue, isLast, lastBytesMs, behind }: Http1Parts) {
    this.#request = request
    this.#response = response
    this.#behind = behind
    this.#isLast = isLast
    this.#lastBytesMs = lastBytesMs
    this.protocol = request.httpVersion === '1.0' ? 'HTTP/1.0' : 'HTTP/1.1'
    this.connection = connection
    this.method = request.method ?? ''
    this.target = head.kind === 'head' ? head.target : ''
    this.authority = head.kind === 'head' ? head.authority : ''
    this.fields = request.rawHeaders
    this.expectsContinue = expectsContinue
    this.upgrade = behind && request.headers.upgrade
    this.body = behind ? undefined : readBody(request)
    response.sendDate = false
    request.on('error', ignore)
    response.on('error', ignore)
  }

  sendContinue(): void {
    if (!this.#response.headersSent) this.#response.writeContinue()
  }

  answer({ status, reason, fields, body }: AnswerHead): void {
    // For a body of unknown length node:http chooses: chunked, or, for HTTP/1.0, until the connection closes.
    if (this.#isLast()) this.#response.shouldKeepAlive = false
    const framed = typeof body === 'number' ? [...fields, 'Content-Length', String(body)] : fields
    this.#response.writeHead(status, reason, framed as string[])
  }

  write(chunk: Buffer): boolean {
    this.bytesSent += chunk.length
    return this.#response.write(chunk)
  }

  flush(): void {
    this.#response.flushHeaders()
  }

  end(trailers: Fields = []): void {
    if (this.#response.destroyed) return
    if (trailers.length > 0 && this.protocol === 'HTTP/1.1') this.#response.addTrailers(pairs(trailers))
    this.#response.end()
    const timer = setTimeout(() => this.abort(), this.#lastBytesMs)
    this.#response.once('close', () => clearTimeout(timer))
    if (!this.#request.complete && this.body) discardRest(this.#request)
  }

  abort(): void {
    this.#request.socket.destroy()
  }

  onDrain(listener: () => void): void {
    this.#response.on('drain', listener)
  }

  onGone(listener: () => void): void {
    if (this.#response.destroyed) return void listener()
    this.#response.once('close', () => {
      if (!this.#response.writableFinished) listener()
    })
  }

  onClose(listener: () => void): void {
    this.#response.once('close', listener)
  }

  takeOver(): { socket: Duplex; head: Buffer } {
    const { socket } = this.#request
    this.#response.flushHeaders()
    this.#response.detachSocket(socket)
    return { socket, head: this.#behind ?? Buffer.alloc(0) }
  }

  /** For a head that nobody should act upon: what follows it on the connection cannot be trusted either. */
  refuse(status: number): void {
    this.#response.shouldKeepAlive = false
    sendPage(this, page(status))
  }
}

function readBody(request: IncomingMessage): RequestBody | undefined {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  if (coding === undefined && (length === undefined || length === '0')) return undefined
  return { stream: request, length: coding === undefined ? Number(length) : undefined, trailers: () => request.rawTrailers }
}

function discardRest(request: IncomingMessage): void {
  let bytes = 0
  const timer = setTimeout(() => request.socket.destroy(), DISCARDING_MS_MAX)
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > DISCARDED_BYTES_MAX) request.socket.destroy()
  })
  request.once('close', () => clearTimeout(timer))
  request.resume()
}

function pairs(fields: Fields): [string, string][] {
  return Array.from({ length: fields.length / 2 }, (_, i) => [fields[2 * i]!, fields[2 * i + 1]!])
}

function ignore(): void {}
