import type { Fields, RequestBody } from './engine.ts'
import { trailersToUpstream } from './forwarded-trailers.ts'
import { keep } from './let-go.ts'

/** A request whose body has gone no further than this can be sent again, should the upstream not have looked at it. */
const REPEATABLE_BYTES_MAX = 64 * 1024
/** What an object takes, whatever its bytes: whoever sends single ones must not have it kept for each. */
const PIECE_BYTES = 128

export type BodySink = {
  /** Sends what there is room for and returns how much that was. */
  sendBody(chunk: Buffer): number
  endBody(trailers: Fields): void
  /** `goOn` is to be called once there is room. */
  waitForRoom(): void
}

/** Passes a request's body on as it comes, never faster than the upstream's windows allow: what waits here is what came in one piece. */
export class BodySending {
  readonly #body: RequestBody
  readonly #sink: BodySink
  /** What no window had room for yet. */
  #unsent: Buffer[] = []
  /** All that was sent, while it is little enough to be sent again. */
  #sent: Buffer[] | undefined = []
  /** With what the pieces take themselves. */
  #sentBytes = 0
  #hasEnded = false
  #isHeld = false
  isComplete = false

  constructor(body: RequestBody, sink: BodySink) {
    this.#body = body
    this.#sink = sink
    body.start({ take: this.#take, end: this.#end })
  }

  /** Whether the next move is the visitor's: the upstream would take more. */
  get waitsForVisitor(): boolean {
    return !this.#hasEnded && this.#unsent.length === 0
  }

  /** Sends what waits, as far as there is room. False: it has to wait on. */
  goOn(): boolean {
    this.#isHeld = false
    while (this.#unsent.length > 0) {
      const chunk = this.#unsent[0]!
      const sent = this.#sink.sendBody(chunk)
      if (sent < chunk.length) {
        this.#unsent[0] = chunk.subarray(sent)
        return false
      }
      this.#unsent.shift()
    }
    if (this.#hasEnded) this.#complete()
    else this.#body.resume()
    return true
  }

  /** Begins anew, and not before the next `goOn`. False: too much has been sent already. */
  rewind(): boolean {
    if (!this.#sent) return false
    this.#isHeld = true
    this.#body.pause()
    this.#unsent = this.#sent
    this.#sent = [...this.#unsent]
    this.isComplete = false
    return true
  }

  /** The upstream has begun to answer: nothing is sent twice from now on. */
  commit(): void {
    this.#sent = undefined
  }

  stop(): void {
    this.#body.stop()
    this.#unsent = []
    this.#sent = undefined
  }

  readonly #take = (taken: Buffer) => {
    const chunk = keep(taken)
    this.#sentBytes += chunk.length + PIECE_BYTES
    if (this.#sentBytes > REPEATABLE_BYTES_MAX) this.#sent = undefined
    this.#sent?.push(chunk)
    this.#unsent.push(chunk)
    if (!this.#isHeld && this.#unsent.length === 1 && this.goOn()) return
    this.#body.pause()
    this.#sink.waitForRoom()
  }

  readonly #end = () => {
    this.#hasEnded = true
    if (this.#unsent.length === 0 && !this.#isHeld) this.#complete()
  }

  #complete(): void {
    if (this.isComplete) return
    this.isComplete = true
    this.#sink.endBody(trailersToUpstream(this.#body.trailers()))
  }
}
