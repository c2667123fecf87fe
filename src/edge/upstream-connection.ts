import type { Socket } from 'node:net'
import { AnswerParser, type ParsedHead } from './answer-parser.ts'
import type { Fields, RequestBody } from './engine.ts'
import { valuesOf } from './fields.ts'
import { type BodySending, sendBody } from './request-body.ts'
import type { Timeouts } from './timeouts.ts'
import { type Upstream, UpstreamFailure } from './upstream.ts'

export type UpstreamRequest = {
  method: string
  /** The whole head as it goes on the wire, one character a byte. */
  head: string
  body: RequestBody | undefined
  mayUpgrade: boolean
}

export type UpstreamListener = {
  onInterim(status: number): void
  onHead(head: ParsedHead): void
  onData(chunk: Buffer): void
  /** What has arrived so far was handed over: now is the time to flush. */
  onPause(): void
  onEnd(trailers: Fields): void
  /** After a 101: the connection itself, and what came behind the answer. */
  onUpgrade(socket: Socket, behind: Buffer): void
  onFailure(failure: UpstreamFailure, circumstances: { answerBegan: boolean; visitorStalled: boolean }): void
}

type Running = {
  parser: AnswerParser
  listener: UpstreamListener
  sending: BodySending | undefined
  head: ParsedHead | undefined
  trailers: Fields | undefined
}

/** One connection to an upstream, which carries one exchange at a time. Time-outs are kept here. */
export class UpstreamConnection {
  readonly upstream: Upstream
  readonly #socket: Socket
  readonly #timeouts: Timeouts
  readonly #onFree: (connection: UpstreamConnection) => void
  #running: Running | undefined
  #exchanges = 0
  #idleMs: number

  /** `onFree` is called when an exchange has left the connection fit for another one, `onClose` once when the connection is gone. */
  constructor(
    socket: Socket,
    upstream: Upstream,
    timeouts: Timeouts,
    on: { free(connection: UpstreamConnection): void; close(connection: UpstreamConnection): void },
  ) {
    this.upstream = upstream
    this.#socket = socket
    this.#timeouts = timeouts
    this.#idleMs = timeouts.keepAliveMs
    this.#onFree = on.free
    socket.on('data', this.#receive)
    socket.on('end', this.#end)
    socket.on('error', this.#error)
    socket.on('timeout', this.#late)
    socket.on('close', this.#closed)
    socket.once('close', () => on.close(this))
  }

  get isUsable(): boolean {
    return !this.#socket.destroyed && this.#socket.writable && !this.#socket.readableEnded
  }

  /** Whether it has carried an exchange before the one that it carries now. */
  get isReused(): boolean {
    return this.#exchanges > 1
  }

  send(request: UpstreamRequest, listener: UpstreamListener): void {
    const parser = new AnswerParser(request.method, request.mayUpgrade, {
      onInterim: (status) => listener.onInterim(status),
      onHead: (head) => this.#begin(head),
      onData: (chunk) => listener.onData(chunk),
      onEnd: (trailers) => {
        running.trailers = trailers
      },
    })
    const running: Running = { parser, listener, sending: undefined, head: undefined, trailers: undefined }
    this.#exchanges += 1
    this.#running = running
    this.#socket.setTimeout(request.body ? this.#timeouts.bodyIdleMs : this.#timeouts.answerHeadMs)
    this.#socket.write(request.head, 'latin1')
    if (request.body) running.sending = sendBody(this.#socket, request.body, () => this.#bodySent(running))
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** How long it may be idle: our keep-alive time, or less when the upstream said so. */
  rest(): void {
    this.#socket.setTimeout(this.#idleMs)
  }

  destroy(): void {
    this.#running?.sending?.stop()
    this.#running = undefined
    this.#socket.destroy()
  }

  #begin(head: ParsedHead): void {
    const running = this.#running
    if (!running) return
    running.head = head
    const isEventStream = valuesOf(head.fields, 'content-type').some((type) => /^text\/event-stream\b/i.test(type))
    this.#socket.setTimeout(isEventStream ? 0 : this.#timeouts.bodyIdleMs)
    if (head.status !== 101) running.listener.onHead(head) // a 101 is told once its connection can be handed over
  }

  #bodySent(running: Running): void {
    if (running.head === undefined) this.#socket.setTimeout(this.#timeouts.answerHeadMs)
  }

  readonly #receive = (chunk: Buffer) => {
    const running = this.#running
    if (!running) return this.destroy() // bytes that nobody asked for
    let used: number
    try {
      used = running.parser.feed(chunk)
      if (running.head?.status === 101) running.listener.onHead(running.head)
    } catch (error) {
      return this.#fail(error instanceof UpstreamFailure ? error : new UpstreamFailure('malformed', String(error), { cause: error }))
    }
    if (this.#running !== running) return
    if (!running.parser.isDone) running.listener.onPause()
    else if (running.head?.status === 101) this.#handOver(running, chunk.subarray(used))
    else this.#finish(running, used === chunk.length)
  }

  #handOver(running: Running, behind: Buffer): void {
    this.#running = undefined
    const socket = this.#socket.off('data', this.#receive).off('end', this.#end).off('timeout', this.#late)
    socket.pause()
    socket.setTimeout(0)
    running.listener.onUpgrade(socket, behind)
  }

  #finish({ head, sending, listener, trailers }: Running, nothingBehind: boolean): void {
    this.#running = undefined
    sending?.stop()
    const isFit = head!.keepsAlive && nothingBehind && (sending?.isComplete ?? true) && this.isUsable
    this.#idleMs = Math.min(this.#timeouts.keepAliveMs, announcedIdleMs(head!.fields))
    this.#socket.resume() // a slow visitor may have paused it, and it is the next one's now
    if (isFit) this.#onFree(this)
    else this.#socket.destroy()
    listener.onEnd(trailers ?? [])
  }

  readonly #end = () => {
    const running = this.#running
    if (running?.parser.close()) this.#finish(running, false)
    else this.#fail(new UpstreamFailure('reset', 'the upstream closed the connection before the answer was complete'))
  }

  readonly #error = (error: Error) => {
    this.#fail(new UpstreamFailure('reset', error.message, { cause: error }))
  }

  readonly #closed = () => {
    this.#fail(new UpstreamFailure('reset', 'the connection to the upstream was closed'))
  }

  readonly #late = () => {
    this.#fail(new UpstreamFailure('timeout', 'the upstream was silent for too long'))
  }

  #fail(failure: UpstreamFailure): void {
    const running = this.#running
    const visitorStalled = failure.reason === 'timeout' && (running?.sending?.waitsForVisitor ?? false)
    this.destroy()
    running?.listener.onFailure(failure, { answerBegan: !running.parser.isUntouched, visitorStalled })
  }
}

/** `Keep-Alive: timeout=5` means that the upstream closes after 5 s: we stop using the connection a second earlier. */
function announcedIdleMs(fields: Fields): number {
  const seconds = /timeout=(\d{1,6})/i.exec(valuesOf(fields, 'keep-alive').join(','))?.[1]
  return seconds === undefined ? Number.POSITIVE_INFINITY : Math.max(1, Number(seconds) * 1000 - 1000)
}
