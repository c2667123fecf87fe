import type { AnswerFields } from './forwarded-answer.ts'
import { KeptBytes, REMEMBERED_BYTES_MAX } from './kept-bytes.ts'

export type ReadHead = { status: number; reason: string; fields: AnswerFields; isHttp11: boolean; bytes: number }

/**
 * The last head that came from an upstream, whichever connection brought it: one for each would not be found in the processor's caches. Applications
 * say many to the letter again within a second: not modified, accepted, what is asked for all the time. Only a head as long as the one before it is
 * remembered, since it costs a copy: others hardly come again.
 */
export class LastAnswerHead {
  readonly #kept = new KeptBytes()
  #length = 0
  #head: ReadHead | undefined

  /** What the head says that `bytes` begin with, if it is the last one again. */
  again(bytes: Buffer): ReadHead | undefined {
    return this.#head && this.#kept.isIn(bytes, 0, bytes.length) ? this.#head : undefined
  }

  /** Forgets the last one. A copy of the head that `bytes` begin with, of which it is to be read and then remembered; undefined where it is not likely to come again. */
  copyOf(bytes: Buffer, length: number): Buffer | undefined {
    const isLikely = length === this.#length && length <= REMEMBERED_BYTES_MAX
    this.#length = length
    this.#head?.fields.passing.leaveBytes()
    this.#head = undefined
    if (!isLikely) return undefined
    this.#kept.keep(bytes, 0, length)
    return this.#kept.memory
  }

  remember(head: ReadHead): void {
    this.#head = head
  }
}
