import type { Fields, RequestBody } from './engine.ts'
import { trailersToUpstream } from './forwarded-trailers.ts'
import { keep } from './let-go.ts'
import type { Repeatable } from './repeatable.ts'

/**
 * A request of whose body no more than this has been sent can be sent again, should the upstream not have looked at it: most upstreams let out no more
 * before they have, since it is what a stream begins with (RFC 9113 §6.9.2).
 */
const REPEATABLE_BYTES_MAX = 64 * 1024
/** Each takes an object, whatever its bytes: whoever sends single ones must not have it kept for all. */
const REPEATABLE_PIECES_MAX = 400
/** What a piece takes beside its bytes. */
const PIECE_BYTES = 512

export type Http2BodySink = {
  /** Sends what there is room for and returns how much that was. */
  sendBody(chunk: Buffer): number
  endBody(trailers: Fields): void
  /** `goOn` is to be called once there is room. */
  waitForRoom(): void
}

/** Passes a request's body on as it comes, never faster than the upstream's windows allow: what waits here is what came in one piece. */
export class Http2BodySending {
  readonly #body: RequestBody
  readonly #sink: Http2BodySink
  readonly #kept: Repeatable
  readonly #owner: string
  /** What no window had room for yet. */
  #unsent: Buffer[] = []
  /** All that has come, what waits included, while little enough of it has been sent to be sent again. */
  #repeatable: Buffer[] | undefined = []
  #repeatableBytes = 0
  #sentBytes = 0
  #hasEnded = false
  #isHeld = false
  isComplete = false

  /** `owner`: the project whose upstream it is for. */
  constructor(body: RequestBody, sink: Http2BodySink, { kept, owner }: { kept: Repeatable; owner: string }) {
    this.#body = body
    this.#sink = sink
    this.#kept = kept
    this.#owner = owner
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
      this.#sentBytes += sent
      if (this.#sentBytes > REPEATABLE_BYTES_MAX) this.commit()
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
    if (!this.#repeatable) return false
    this.#isHeld = true
    this.#body.pause()
    this.#unsent = [...this.#repeatable]
    this.#sentBytes = 0
    this.isComplete = false
    return true
  }

  /** Nothing is sent twice from now on, as when the upstream has begun to answer. */
  commit(): void {
    if (!this.#repeatable) return
    this.#repeatable = undefined
    this.#kept.letGo(this.#owner, this.#repeatableBytes)
  }

  stop(): void {
    this.#body.stop()
    this.#unsent = []
    this.commit()
  }

  readonly #take = (taken: Buffer) => {
    const chunk = keep(taken)
    if (this.#repeatable) this.#keepToRepeat(chunk, this.#repeatable)
    this.#unsent.push(chunk)
    if (!this.#isHeld && this.#unsent.length === 1 && this.goOn()) return
    this.#body.pause()
    this.#sink.waitForRoom()
  }

  #keepToRepeat(chunk: Buffer, repeatable: Buffer[]): void {
    const bytes = chunk.length + PIECE_BYTES
    if (repeatable.length < REPEATABLE_PIECES_MAX && this.#kept.keep(this.#owner, bytes)) {
      this.#repeatableBytes += bytes
      repeatable.push(chunk)
    } else {
      this.commit()
    }
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
