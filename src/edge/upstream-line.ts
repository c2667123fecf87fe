import { UpstreamFailure } from './upstream.ts'

const WAITING_MAX = 4_096

type Waiter<T> = { resolve(connection: T): void; reject(reason: unknown): void; timer: NodeJS.Timeout }

/** The requests that wait for a connection to one upstream, in the order in which they came; a bounded number, each for a bounded time. */
export class UpstreamLine<T> {
  #waiters: Waiter<T>[] = []

  get length(): number {
    return this.#waiters.length
  }

  /** Rejects with UpstreamFailure `busy` when too many wait already, or when nothing came in time. */
  wait(forMs: number): Promise<T> {
    if (this.#waiters.length >= WAITING_MAX) return Promise.reject(new UpstreamFailure('busy', 'too many requests wait for this upstream'))
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
        reject(new UpstreamFailure('busy', 'no connection to the upstream became free in time'))
      }, forMs)
      const waiter: Waiter<T> = { resolve, reject, timer }
      this.#waiters.push(waiter)
    })
  }

  /** Takes the first out of the line: what it waited for has come, or will. */
  next(): Pick<Waiter<T>, 'resolve' | 'reject'> | undefined {
    const waiter = this.#waiters.shift()
    clearTimeout(waiter?.timer)
    return waiter
  }

  /** Tells all but the first so many that nothing will come. */
  rejectBehind(count: number, reason: unknown): void {
    for (const waiter of this.#waiters.splice(count)) {
      clearTimeout(waiter.timer)
      waiter.reject(reason)
    }
  }
}
