/** A standstill counts as one of them at most. */
const STEPS = 10

/**
 * The time that something has, in one wait or in several, one after the other. While the process stands still (SIGSTOP, a virtual machine that is frozen) no more than a
 * tenth of it passes; and it is over only when what had come by then is read, which is done after timers (docs/decisions/0104).
 */
export class Patience {
  readonly #stepMs: number
  #leftMs: number

  constructor(ms: number) {
    this.#leftMs = Math.max(0, ms)
    this.#stepMs = this.#leftMs / STEPS
  }

  /** As of the end of the last wait. */
  get leftMs(): number {
    return this.#leftMs
  }

  /** Calls `late` when no more than `untilLeftMs` is left, unless what it returns is called before, which ends the wait. */
  wait(late: () => void, untilLeftMs = 0): () => void {
    let beganMs: number
    let timer: NodeJS.Timeout
    let last: NodeJS.Immediate | undefined
    const count = () => {
      this.#leftMs -= Math.min(performance.now() - beganMs, this.#stepMs)
    }
    const begin = () => {
      beganMs = performance.now()
      timer = setTimeout(end, Math.max(0, Math.min(this.#leftMs - untilLeftMs, this.#stepMs)))
    }
    const end = () => {
      count()
      if (this.#leftMs > untilLeftMs) begin()
      else last = setImmediate(late)
    }
    begin()
    return () => {
      clearTimeout(timer)
      clearImmediate(last)
      count()
    }
  }
}
