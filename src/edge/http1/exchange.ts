import type { TLSSocket } from 'node:tls'
import type { AnswerHead, Exchange, Fields, InterimAnswer, RequestBody, VisitorConnection } from '../engine.ts'
import { fieldLines } from '../field-section.ts'
import type { RequestFields } from '../forwarded-request.ts'
import { keep, letGo, letGoOnceWritten } from '../let-go.ts'
import type { RequestId } from '../request-ids.ts'
import type { RequestHead } from './request-head.ts'

/** Up to here head and body leave in one piece; beyond, joining costs more than a second write. */
const JOINED_BYTES_MAX = 24 * 1024
const LAST_CHUNK = '0\r\n'
const LENGTH = Buffer.from('Content-Length: ')
const CHUNKED = Buffer.from('Transfer-Encoding: chunked\r\n')

export type ExchangeHost = {
  readonly socket: TLSSocket
  readonly connection: VisitorConnection
  /** Whether the connection is to end with this answer, whatever the visitor asked for. */
  isLast(): boolean
  sendContinue(): void
  /** Text of one character a byte; what is sent in one turn of the loop leaves in one piece. */
  send(text: string): void
  /** The bytes from `from` to `end`, copied at once. */
  sendBytes(bytes: Buffer, from: number, end: number): void
  /** A piece, copied at once; with all that has not left they are no more than a gathering buffer holds. */
  sendPiece(piece: Buffer): void
  /** Bytes of this turn that have not left. */
  readonly unsentBytes: number
  /** Lets what was sent leave now. */
  sendOut(): void
  ended(exchange: Http1Exchange): void
  /** Ends the connection once all that was written has left. */
  close(): void
  takeOver(): Buffer
}

type Framing = 'none' | 'length' | 'chunked' | 'until-close'

/** A visitor's request over HTTP/1.1 or 1.0, and its answer. What is written in one turn of the loop leaves in one piece. */
export class Http1Exchange implements Exchange {
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1'
  readonly connection: VisitorConnection
  readonly method: string
  readonly target: string
  readonly authority: string
  readonly fields: RequestFields
  readonly body: RequestBody | undefined
  readonly expectsContinue: boolean
  readonly upgrade: string | undefined
  bytesSent = 0
  /** Whether the connection goes on after the answer; decided when it begins. */
  keepsAlive: boolean
  readonly #host: ExchangeHost
  /** Whether it came before the answer to the one before had left: its visitor asks ahead (RFC 9112 §9.3.2). */
  readonly #isAhead: boolean
  #framing: Framing = 'none'
  #hasContinued = false
  #hasBegun = false
  #hasEnded = false
  #isClosed = false
  #isStalled = false
  #onDrain: (() => void) | undefined
  #onGone: ((isStalled: boolean) => void) | undefined
  #onClose: ((refusal?: number) => RequestId) | undefined

  constructor(head: RequestHead, body: RequestBody | undefined, host: ExchangeHost) {
    this.#host = host
    this.connection = host.connection
    this.protocol = head.isHttp11 ? 'HTTP/1.1' : 'HTTP/1.0'
    this.method = head.method
    this.target = head.target
    this.authority = head.authority === '' && !head.isHttp11 ? (host.connection.servername ?? '') : head.authority
    this.fields = head.fields
    this.body = body
    this.expectsContinue = head.expectsContinue
    this.upgrade = head.upgrade
    this.keepsAlive = head.keepsAlive
    this.#isAhead = host.unsentBytes + host.socket.writableLength > 0
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether the visitor waits to be told whether its body is wanted. */
  get awaitsContinue(): boolean {
    return this.expectsContinue && !this.#hasContinued
  }

  sendContinue(): void {
    if (this.#hasBegun || this.#isClosed) return
    this.#hasContinued = true
    this.#host.sendContinue()
  }

  sendInterim({ status, reason, fields }: InterimAnswer): void {
    if (this.#hasBegun || this.#isClosed || this.protocol === 'HTTP/1.0' || this.#host.socket.writableNeedDrain) return
    this.#sendLine(statusLine(status, reason))
    fields.sendTo(this.#host)
    this.#host.send('\r\n')
  }

  answer({ status, reason, fields, body }: AnswerHead): void {
    if (this.#isClosed) return
    this.#hasBegun = true
    this.#framing = this.#framingOf(body)
    if (this.#framing === 'until-close' || this.#host.isLast()) this.keepsAlive = false
    this.#sendLine(statusLine(status, reason))
    if (this.#framing === 'length') {
      this.#sendLine(LENGTH)
      this.#host.send(String(body))
      this.#host.send('\r\n')
    } else if (this.#framing === 'chunked') {
      this.#sendLine(CHUNKED)
    }
    if (status !== 101) this.#host.send(this.#connectionField())
    fields.sendTo(this.#host)
    this.#host.send('\r\n')
  }

  /** The chunk is let go once it has left. */
  write(chunk: Buffer): boolean {
    if (this.#isClosed) return true
    this.bytesSent += chunk.length
    const size = this.#framing === 'chunked' ? `${chunk.length.toString(16)}\r\n` : ''
    const tail = this.#framing === 'chunked' ? '\r\n' : ''
    if (this.#host.unsentBytes + chunk.length <= JOINED_BYTES_MAX) {
      if (size !== '') this.#host.send(size)
      this.#host.sendPiece(chunk)
      if (tail !== '') this.#host.send(tail)
      letGo(chunk)
      return !this.#host.socket.writableNeedDrain
    }
    return this.#writeLarge(size, keep(chunk), tail)
  }

  end(trailers: Fields = []): void {
    if (this.#isClosed || this.#hasEnded) return
    if (this.#framing === 'chunked') this.#host.send(`${LAST_CHUNK}${fieldLines(trailers)}\r\n`)
    this.#hasEnded = true
    this.#host.ended(this)
  }

  abort(): void {
    const { socket } = this.#host
    this.#host.sendOut()
    const answerBeforeWaits = this.#isAhead && socket.writableLength > 0
    if (!answerBeforeWaits || this.#framing === 'until-close') return void socket.destroy()
    this.close()
    this.#host.close() // an end in the middle of a length or of chunks is seen as such
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener
  }

  onGone(listener: (isStalled: boolean) => void): void {
    if (this.#isClosed && !this.#hasEnded) return void listener(this.#isStalled)
    this.#onGone = listener
  }

  onClose(listener: (refusal?: number) => RequestId): void {
    this.#onClose = listener
  }

  takeOver(): { socket: TLSSocket; head: Buffer } {
    this.#isClosed = true
    return { socket: this.#host.socket, head: this.#host.takeOver() }
  }

  /** The visitor takes more. */
  drained(): void {
    this.#onDrain?.()
  }

  /** Nothing has moved for too long: ends the connection. */
  giveUp(): void {
    const { socket } = this.#host
    this.#isStalled = socket.writableNeedDrain
    socket.destroy()
  }

  /** The exchange is over, and all of its answer has left. */
  finish(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#onClose?.()
  }

  /** It is over before that: the connection is gone, or the visitor is told `refusal` in its place, of the request that is called so. */
  close(refusal?: number): RequestId | undefined {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#onGone?.(this.#isStalled)
    return this.#onClose?.(refusal)
  }

  #sendLine(line: Buffer): void {
    this.#host.sendBytes(line, 0, line.length)
  }

  #framingOf(body: AnswerHead['body']): Framing {
    if (body === 'none') return 'none'
    if (typeof body === 'number') return 'length'
    return this.protocol === 'HTTP/1.1' ? 'chunked' : 'until-close'
  }

  #connectionField(): string {
    if (!this.keepsAlive) return 'Connection: close\r\n'
    return this.protocol === 'HTTP/1.0' ? 'Connection: keep-alive\r\n' : ''
  }

  #writeLarge(size: string, chunk: Buffer, tail: string): boolean {
    const { socket } = this.#host
    const sent = letGoOnceWritten(socket, chunk)
    if (size === '' && this.#host.unsentBytes === 0) return socket.write(chunk, sent)
    socket.cork()
    if (size !== '') this.#host.send(size)
    this.#host.sendOut()
    let taken = socket.write(chunk, sent)
    if (tail !== '') taken = socket.write(tail, 'latin1')
    socket.uncork()
    return taken
  }
}

/** Longer ones, which nobody needs, are not remembered. */
const REASON_CHARACTERS_MAX = 64

/** The line of each status as it was said last: most applications say one reason for a status. */
const STATUS_LINES: { reason: string; line: Buffer }[] = []

function statusLine(status: number, reason: string): Buffer {
  const last = STATUS_LINES[status]
  if (last?.reason === reason) return last.line
  const line = Buffer.from(`HTTP/1.1 ${status} ${reason}\r\n`, 'latin1')
  if (reason.length <= REASON_CHARACTERS_MAX) STATUS_LINES[status] = { reason, line }
  return line
}
