import type { RequestBody } from './engine.ts'
import { fieldLines } from './field-section.ts'
import { trailersToUpstream } from './forwarded-trailers.ts'

export type BodySending = {
  readonly isComplete: boolean
  /** Whether the next move is the visitor's: the upstream would take more. */
  readonly waitsForVisitor: boolean
  /** The upstream takes no more for now, or again. */
  block(): void
  goOn(): void
  stop(): void
  /** The answer is complete without the rest: that is not worth sending, but whoever sends first and reads then sends on. */
  discard(): void
}

/** Where a body goes; what is sent until the end of the turn leaves in one piece. */
export type BodySink = {
  /** Of one character a byte. */
  sendText(text: string): void
  /** The piece is the sink's from now on; what does not leave at once it keeps (`keep`). */
  sendPiece(piece: Buffer): void
  bodyComplete(): void
}

/** Passes a request's body on as it comes, to an upstream of HTTP/1.1. */
export function sendBody(sink: BodySink, body: RequestBody): BodySending {
  const isChunked = body.length === undefined
  let isComplete = false
  let isBlocked = false

  const take = (chunk: Buffer) => {
    if (isChunked) sink.sendText(`${chunk.length.toString(16)}\r\n`)
    sink.sendPiece(chunk)
    if (isChunked) sink.sendText('\r\n')
  }
  const end = () => {
    isComplete = true
    body.stop()
    if (isChunked) sink.sendText(`0\r\n${fieldLines(trailersToUpstream(body.trailers()))}\r\n`)
    sink.bodyComplete()
  }

  body.start({ take, end })
  return {
    get isComplete() {
      return isComplete
    },
    get waitsForVisitor() {
      return !isComplete && !isBlocked
    },
    block() {
      isBlocked = true
      body.pause()
    },
    goOn() {
      if (!isBlocked) return
      isBlocked = false
      body.resume()
    },
    stop: () => body.stop(),
    discard() {
      body.stop()
      body.resume()
    },
  }
}
