import type { TLSSocket } from 'node:tls'
import { Malformed } from '../chunked-reader.ts'
import type { EngineParts, VisitorConnection } from '../engine.ts'
import { RequestFields } from '../forwarded-request.ts'
import { alone, letGo } from '../let-go.ts'
import { page, sendPage } from '../pages.ts'
import { DISCARDING_MS_MAX, PIPELINED_BYTES_MAX, REQUEST_HEAD_BYTES_MAX } from '../request-limits.ts'
import { SpareBuffers, smallBuffers } from '../spare-buffers.ts'
import { Stall } from '../stall.ts'
import { LEAVING_MS } from '../timeouts.ts'
import type { TurnMember } from '../turn.ts'
import { Unsent } from '../unsent.ts'
import { borrowVisitorBytes } from '../visitor-reads.ts'
import { LastFields } from './collected-fields.ts'
import { type ExchangeHost, Http1Exchange } from './exchange.ts'
import { readRefusedLine } from './refused-line.ts'
import { createIncomingBody, type IncomingBody } from './request-body.ts'
import { type RequestHead, readRequestHead } from './request-head.ts'

export type ConnectionParts = EngineParts & { isDraining(): boolean }

/** What the connection is at: every state but the tunnel has a deadline. */
type State = 'idle' | 'head' | 'busy' | 'reading-answer' | 'closing' | 'tunnel'

/** Of answers on their way: what is more than a large one holds leaves before the end of its turn. */
const BUFFERS = { small: smallBuffers, large: new SpareBuffers(32 * 1024, 256) }
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const LF = 10
const CRLF = Buffer.from('\r\n')
const EMPTY = Buffer.alloc(0)
/** For the bytes that a visitor has still on their way when its last answer has left. */
const LINGER_MS = 2_000
/** For the upstream's side, when a body has rested for too long. */
const ANSWERED_WITHIN_MS = 2_000

/** One connection of HTTP/1.1 or 1.0: its requests in their order, one at a time, and its deadlines. */
export class Http1Connection implements ExchangeHost, TurnMember {
  readonly socket: TLSSocket
  readonly connection: VisitorConnection
  readonly #parts: ConnectionParts
  readonly #takeNoMore: () => void
  #state: State = 'head'
  #deadlineAt: number
  readonly #lastFields = new LastFields()
  #kept: Buffer = EMPTY
  /** Of this turn's answers. */
  readonly #unsent = new Unsent(BUFFERS)
  #exchange: Http1Exchange | undefined
  #incoming: IncomingBody | undefined
  /** Once all has left: by when the visitor must have closed. */
  #lingersUntil = 0
  #isPaused = false
  readonly #stall = new Stall()
  /** When the rest before the head that is coming would have been over; 0 before the first one. */
  #idleUntil = 0

  constructor(socket: TLSSocket, connection: VisitorConnection, parts: ConnectionParts) {
    this.socket = socket
    this.connection = connection
    this.#parts = parts
    this.#deadlineAt = performance.now() + parts.timeouts.requestHeadMs
    this.#takeNoMore = borrowVisitorBytes(socket, this.#receive)
    socket.on('drain', this.#drained)
    socket.once('end', this.#ended)
    socket.once('close', this.#closed)
  }

  /** To be called when we begin to drain: idle, now or later, or for the rest of a head the connection does not wait for long any more. */
  leave(): void {
    if (this.#state === 'idle' || (this.#state === 'head' && this.#kept.length === 0)) {
      this.#rest()
    } else if (this.#state === 'head') {
      const leavesAt = performance.now() + LEAVING_MS
      this.#deadlineAt = Math.min(this.#deadlineAt, leavesAt)
      this.#idleUntil = Math.min(this.#idleUntil, leavesAt)
    }
  }

  isLast(): boolean {
    if (this.#parts.isDraining() || this.#exchange?.upgrade !== undefined) return true
    // The visitor may send the body or not, and what comes next could be either (RFC 9110 §10.1.1).
    return this.#incoming !== undefined && this.#exchange?.awaitsContinue === true
  }

  get unsentBytes(): number {
    return this.#unsent.length
  }

  sendContinue(): void {
    this.send(CONTINUE)
  }

  send(text: string): void {
    this.#joinTurn()
    this.#unsent.addText(text)
    if (!this.#unsent.hasRoomFor(0)) this.sendOut()
  }

  sendBytes(bytes: Buffer, from: number, end: number): void {
    this.#joinTurn()
    this.#unsent.addBytes(bytes, from, end)
    if (!this.#unsent.hasRoomFor(0)) this.sendOut()
  }

  sendPiece(piece: Buffer): void {
    this.#joinTurn()
    this.#unsent.addPiece(piece)
  }

  sendOut(): void {
    if (this.#unsent.length > 0) this.#unsent.writeTo(this.socket)
  }

  endTurn(): void {
    this.sendOut()
  }

  /** To be asked every second: ends what has waited for too long. */
  look(nowMs: number): void {
    if (this.#isStuck(nowMs)) this.#exchange?.giveUp()
    else if (nowMs < this.#deadlineAt) return
    else if (this.#state === 'head' && this.#kept.length > 0) this.#refuse(408)
    else if (this.#state === 'idle' || this.#state === 'head') this.close()
    else if (this.#exchange) this.#exchange.giveUp()
    else this.socket.destroy()
  }

  /**
   * Whether the visitor has taken nothing of an answer under way for as long as any body may rest, or nobody has what it sends: while it is not read,
   * its end is not seen. A little later then than the upstream's side, which has an answer to that.
   */
  #isStuck(nowMs: number): boolean {
    const isFull = this.socket.writableNeedDrain
    if (this.#state !== 'busy' || !this.#exchange || !(isFull || this.#isPaused)) {
      this.#stall.over()
      return false
    }
    const { bodyIdleMs } = this.#parts.timeouts
    return this.#stall.lastsMs(nowMs, this.socket) >= (isFull ? bodyIdleMs : bodyIdleMs + ANSWERED_WITHIN_MS)
  }

  /** Ends the connection once all that was written has left. */
  close(): void {
    if (this.#state === 'closing') return
    this.#state = 'closing'
    this.#deadlineAt = performance.now() + this.#parts.timeouts.bodyIdleMs // as long as a slow reader has for any other piece of an answer
    this.sendOut()
    this.socket.end(() => {
      this.#lingersUntil = performance.now() + DISCARDING_MS_MAX
      this.#linger()
    })
    this.#goOn()
  }

  ended(exchange: Http1Exchange): void {
    this.#incoming?.cut() // who reads the end of the answer only after its whole upload can send it
    if (this.socket.writableNeedDrain && !this.socket.destroyed) {
      this.#state = 'reading-answer'
      this.#deadlineAt = performance.now() + this.#parts.timeouts.bodyIdleMs
    } else {
      this.#finish(exchange)
    }
  }

  takeOver(): Buffer {
    this.sendOut()
    this.#state = 'tunnel'
    this.#deadlineAt = Number.POSITIVE_INFINITY
    this.#exchange = undefined
    this.#takeNoMore()
    this.socket.off('drain', this.#drained).off('end', this.#ended)
    this.socket.pause()
    return this.#kept
  }

  readonly #receive = (chunk: Buffer) => {
    if (this.#state === 'closing') return this.#linger()
    const hadBytes = this.#kept.length
    this.#kept = hadBytes === 0 ? chunk : Buffer.concat([this.#kept, chunk])
    // A head that comes in crumbs is read anew with each line at most.
    const isCrumb = this.#state === 'head' && hadBytes > 0 && chunk.indexOf(LF) < 0 && this.#kept.length < REQUEST_HEAD_BYTES_MAX
    if (!isCrumb) this.#read()
    if (this.#kept.length > 0) this.#kept = alone(this.#kept)
    letGo(chunk)
  }

  /** To be called before something is added to what has not been sent. */
  #joinTurn(): void {
    if (this.#unsent.length === 0) this.#parts.turn.addWriter(this)
  }

  #read(): void {
    try {
      while (this.#kept.length > 0 && this.#state !== 'closing') {
        if (this.#incoming) {
          if (!this.#readBody(this.#incoming)) return
        } else if (this.#exchange) {
          if (this.#kept.length >= PIPELINED_BYTES_MAX) this.#pause()
          return
        } else if (this.#state === 'tunnel' || !this.#readHead()) {
          return
        }
      }
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      this.#refuse(400)
    }
  }

  /** False: more bytes are needed, or nobody takes what came. */
  #readBody(incoming: IncomingBody): boolean {
    const end = incoming.feed(this.#kept, 0)
    this.#kept = end === this.#kept.length ? EMPTY : this.#kept.subarray(end)
    if (!incoming.isComplete) return false
    this.#incoming = undefined
    if (!this.#exchange) this.#rest()
    return true
  }

  #readHead(): boolean {
    const reading = readRequestHead(this.#kept, 0, this.#lastFields)
    if (reading.kind === 'incomplete') {
      if ((this.#state === 'idle' || this.#idleUntil > 0) && this.#kept.equals(CRLF)) {
        this.#kept = EMPTY // an empty line behind a body (RFC 9112 §2.2) begins nothing
        if (this.#state === 'head') this.#deadlineAt = this.#idleUntil // it came in two pieces
        this.#state = 'idle'
        return false
      }
      if (this.#state === 'idle') {
        this.#idleUntil = this.#deadlineAt
        this.#deadlineAt = performance.now() + (this.#parts.isDraining() ? LEAVING_MS : this.#parts.timeouts.requestHeadMs)
      }
      this.#state = 'head'
      return false
    }
    if (reading.kind === 'refused') {
      this.#refuse(reading.status)
      return false
    }
    this.#kept = reading.end === this.#kept.length ? EMPTY : this.#kept.subarray(reading.end)
    this.#begin(reading.head)
    return true
  }

  #begin(head: RequestHead): void {
    this.#state = 'busy'
    this.#deadlineAt = Number.POSITIVE_INFINITY // the upstream's side keeps the time of an exchange that runs
    if (head.framing.kind !== 'none') {
      this.#incoming = createIncomingBody(head.framing, { pressure: () => this.#pause(), relief: () => this.#goOn() })
    }
    this.#exchange = new Http1Exchange(head, this.#incoming?.body, this)
    this.#parts.onExchange(this.#exchange)
  }

  #finish(exchange: Http1Exchange): void {
    this.#exchange = undefined
    if (this.socket.destroyed) return void exchange.close()
    exchange.finish()
    if (!exchange.keepsAlive) {
      this.close()
      return
    }
    if (this.#incoming) {
      this.#state = 'busy'
      this.#deadlineAt = performance.now() + DISCARDING_MS_MAX
    } else {
      this.#rest()
    }
    this.#goOn()
    if (this.#kept.length > 0) queueMicrotask(() => this.#readOn())
  }

  #readOn(): void {
    if (!this.socket.destroyed && !this.#exchange) this.#read()
  }

  #rest(): void {
    this.#state = 'idle'
    this.#deadlineAt = this.#parts.turn.nowMs() + (this.#parts.isDraining() ? LEAVING_MS : this.#parts.timeouts.keepAliveMs)
  }

  #refuse(status: number): void {
    const running = this.#exchange
    // Behind an answer nobody waits for another, and while one is on its way, another could only fall into the middle of it.
    if (running?.hasEnded || (this.#incoming && !running)) return void this.close()
    if (running?.hasBegun) return void running.abort()
    this.#incoming?.cut()
    this.#incoming = undefined
    const line = running ? { method: running.method } : readRefusedLine(this.#kept)
    this.#kept = EMPTY
    this.#state = 'busy'
    this.#exchange = new Http1Exchange({ ...REFUSED, ...line }, undefined, this)
    if (running) sendPage(this.#exchange, page(status, undefined, [], running.close(status)))
    else this.#parts.onExchange(this.#exchange, status)
  }

  /** All has left, and the visitor has a moment to close; another one as long as it sends. */
  #linger(): void {
    if (this.#lingersUntil > 0) this.#deadlineAt = Math.min(this.#lingersUntil, performance.now() + LINGER_MS)
  }

  #pause(): void {
    this.#isPaused = true
    this.socket.pause()
  }

  #goOn(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.socket.resume()
  }

  readonly #drained = () => {
    if (this.#state === 'reading-answer') this.#finish(this.#exchange!)
    else this.#exchange?.drained()
  }

  readonly #ended = () => {
    if (this.#exchange) {
      // Node ends the connection in its turn, as if the answer were complete.
      if (!this.#exchange.hasEnded) this.#exchange.abort()
      return
    }
    this.sendOut()
    this.socket.destroySoon()
  }

  readonly #closed = () => {
    this.#incoming?.cut()
    const exchange = this.#exchange
    this.#exchange = undefined
    // Whoever ends its side under the last bytes of an answer has them all the same: of a stream that ends, no 'drain' is told.
    if (exchange?.hasEnded && this.socket.writableFinished) exchange.finish()
    else exchange?.close()
  }
}

const REFUSED: RequestHead = {
  isHttp11: true,
  method: '',
  target: '',
  authority: '',
  fields: new RequestFields(),
  framing: { kind: 'none' },
  keepsAlive: false,
  expectsContinue: false,
  upgrade: undefined,
}
