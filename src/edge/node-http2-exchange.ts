import { constants, type ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { AnswerHead, Exchange, Fields, InterimAnswer, RequestBody, VisitorConnection } from './engine.ts'
import { RequestFields } from './forwarded-request.ts'
import type { Http2Head } from './http2/request-head.ts'
import { keep, letGoOnceWritten } from './let-go.ts'
import { noteNeverIndexed, sayNeverIndexed } from './node-http2-sensitive.ts'
import { bodyOfStream } from './stream-body.ts'

type Http2Parts = {
  stream: ServerHttp2Stream
  head: Http2Head
  connection: VisitorConnection
  endsStream: boolean
  /** How long the visitor may take to read the last bytes of an answer. */
  lastBytesMs: number
}

/** A visitor's request over HTTP/2, as node:http2 hands it over. */
export class NodeHttp2Exchange implements Exchange {
  readonly protocol = 'HTTP/2'
  readonly connection: VisitorConnection
  readonly method: string
  readonly target: string
  readonly authority: string
  readonly fields: RequestFields
  readonly body: RequestBody | undefined
  readonly expectsContinue: boolean
  readonly upgrade = undefined
  bytesSent = 0
  readonly #stream: ServerHttp2Stream
  readonly #lastBytesMs: number
  #requestTrailers: Fields = []
  #answerTrailers: Fields = []
  #hasEnded = false
  #isStalled = false
  #awaitsTrailers = false

  constructor({ stream, head, connection, endsStream, lastBytesMs }: Http2Parts) {
    this.#stream = stream
    this.#lastBytesMs = lastBytesMs
    this.connection = connection
    this.method = head.method
    this.target = head.target
    this.authority = head.kind === 'head' ? head.authority : ''
    this.fields = head.kind === 'head' ? head.fields : new RequestFields()
    this.expectsContinue = head.kind === 'head' && head.expectsContinue
    const length = head.kind === 'head' ? head.length : undefined
    this.body = endsStream || length === 0 ? undefined : bodyOfStream(stream, length, () => this.#requestTrailers)
    stream.on('error', ignore)
    stream.once('aborted', () => stream.destroy()) // else it would stay until what has come of its body is read
    stream.on('trailers', (fields: object, _flags, raw: string[]) => {
      noteNeverIndexed(fields)
      this.#requestTrailers = raw
    })
    stream.on('wantTrailers', () => this.#sendTrailers())
  }

  sendContinue(): void {
    if (!this.#stream.headersSent && !this.#stream.destroyed && !this.#stream.closed) this.#stream.additionalHeaders({ ':status': 100 })
  }

  sendInterim({ status, fields }: InterimAnswer): void {
    if (this.#stream.headersSent || this.#stream.destroyed || this.#stream.closed || this.#stream.writableNeedDrain) return
    this.#stream.additionalHeaders({ ':status': status, ...recordOf(fields.list) })
  }

  answer({ status, fields, body, mayHaveTrailers = false }: AnswerHead): void {
    if (this.#stream.destroyed || this.#stream.closed) return
    const head: string[] = [':status', String(status)]
    const { list } = fields
    for (let i = 0; i < list.length; i += 2) head.push(list[i]!.toLowerCase(), list[i + 1]!)
    if (typeof body === 'number') head.push('content-length', String(body))
    this.#awaitsTrailers = body === 'unknown' || mayHaveTrailers
    const names = head.filter((_, i) => i % 2 === 0)
    this.#stream.respond(sayNeverIndexed(head, names), { endStream: body === 'none', waitForTrailers: this.#awaitsTrailers })
  }

  write(chunk: Buffer): boolean {
    if (this.#stream.destroyed) return true
    this.bytesSent += chunk.length
    const kept = keep(chunk)
    return this.#stream.write(kept, letGoOnceWritten(this.#stream, kept))
  }

  end(trailers: Fields = []): void {
    if (this.#stream.destroyed) return
    this.#hasEnded = true
    this.#answerTrailers = trailers
    this.#stream.end()
    const timer = setTimeout(() => this.#giveUp(), this.#lastBytesMs)
    this.#stream.once('close', () => clearTimeout(timer))
    if (!this.#awaitsTrailers) this.#stream.once('finish', () => this.#stopRequest())
  }

  /** RFC 9113 §8.1: a complete answer may come before the request has ended; the visitor is told not to send the rest. */
  #stopRequest(): void {
    if (!this.#stream.readableEnded && this.body) this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }

  abort(): void {
    // Not close(): that would end the body properly first, and RST_STREAM could come too late to be noticed.
    this.#stream.destroy(new Error('the answer was cut short'))
  }

  onDrain(listener: () => void): void {
    this.#stream.on('drain', listener)
  }

  onGone(listener: (isStalled: boolean) => void): void {
    if (this.#stream.destroyed) return void listener(this.#isStalled)
    // 'aborted' comes before 'end', which node says of a body that was cut short as of any other.
    const gone = () => {
      this.#stream.off('aborted', gone).off('close', gone)
      if (!this.#hasEnded || !this.#stream.writableFinished) listener(this.#isStalled)
    }
    this.#stream.on('aborted', gone).prependListener('close', gone) // before what `onClose` was given
  }

  onClose(listener: () => void): void {
    this.#stream.once('close', listener)
  }

  takeOver(): { socket: TLSSocket; head: Buffer } {
    throw new Error('an HTTP/2 stream does not change protocols')
  }

  #giveUp(): void {
    this.#isStalled = true
    this.abort()
  }

  #sendTrailers(): void {
    this.#stream.sendTrailers(recordOf(this.#answerTrailers))
    setImmediate(() => this.#stopRequest()) // RST_STREAM would overtake them
  }
}

function recordOf(list: Fields): Record<string, string | string[]> {
  const record: Record<string, string | string[]> = Object.create(null) // `constructor` is a name like any other
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!.toLowerCase()
    record[name] = name in record ? [record[name]!, list[i + 1]!].flat() : list[i + 1]!
  }
  return sayNeverIndexed(record, Object.keys(record))
}

function ignore(): void {}
