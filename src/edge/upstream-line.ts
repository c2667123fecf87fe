import type { ClientLoad } from './admission.ts'
import { UpstreamFailure } from './upstream.ts'
import { CLIENT_SHARES } from './upstream-share.ts'

const WAITING_MAX = 4_096
const WAITING_PER_CLIENT_MAX = WAITING_MAX / CLIENT_SHARES

type Waiter<T> = { resolve(connection: T): void; reject(reason: unknown): void; timer: NodeJS.Timeout; load: ClientLoad | undefined }

/**
 * The requests that wait for a connection to one upstream, in the order in which they came; a bounded number, each for a bounded time. Whose visitor
 * has gone keeps its place, so that a client which asks and leaves has its share of the line and no more.
 */
export class UpstreamLine<T> {
  #waiters: Waiter<T>[] = []

  get length(): number {
    return this.#waiters.length
  }

  /** Rejects with UpstreamFailure `busy` when too many wait already, of this client or of all, or when nothing came in time. */
  wait(forMs: number, load: ClientLoad | undefined): Promise<T> {
    if (this.#waiters.length >= WAITING_MAX) return Promise.reject(new UpstreamFailure('busy', 'too many requests wait for this upstream'))
    if (load && load.waiting >= WAITING_PER_CLIENT_MAX)
      return Promise.reject(new UpstreamFailure('busy', 'too many requests of this client wait for upstreams'))
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
        leave(waiter)
        reject(new UpstreamFailure('busy', 'no connection to the upstream became free in time'))
      }, forMs)
      const waiter: Waiter<T> = { resolve, reject, timer, load }
      if (load) load.waiting += 1
      this.#waiters.push(waiter)
    })
  }

  /** Takes the first out of the line: what it waited for has come, or will. */
  next(): Pick<Waiter<T>, 'resolve' | 'reject'> | undefined {
    const waiter = this.#waiters.shift()
    if (waiter) leave(waiter)
    return waiter
  }

  /** Tells all but the first so many that nothing will come. */
  rejectBehind(count: number, reason: unknown): void {
    for (const waiter of this.#waiters.splice(count)) {
      leave(waiter)
      waiter.reject(reason)
    }
  }
}

function leave({ timer, load }: Waiter<unknown>): void {
  clearTimeout(timer)
  if (load) load.waiting -= 1
}
