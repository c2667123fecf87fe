import type { ClientLoad } from './admission.ts'
import { Patience } from './patience.ts'
import { UpstreamFailure } from './upstream.ts'
import { type Asking, CLIENT_SHARES } from './upstream-share.ts'

const WAITING_MAX = 4_096
const WAITING_PER_CLIENT_MAX = WAITING_MAX / CLIENT_SHARES

export type Waiter<T> = {
  resolve(connection: T): void
  reject(reason: unknown): void
  readonly load: ClientLoad | undefined
  readonly hasBody: boolean
  readonly patience: Patience
  /** Ends its wait. */
  stop: () => void
}

/**
 * The requests that wait for a connection to one upstream, in the order in which they came; a bounded number, each for a bounded time. Whose visitor
 * has gone keeps its place, so that a client which asks and leaves has its share of the line and no more.
 */
export class UpstreamLine<T> {
  #waiters: Waiter<T>[] = []
  /** Why nothing more is to be had at the moment, where that is known: whoever has waited in vain is told. */
  failure: unknown

  get length(): number {
    return this.#waiters.length
  }

  /** Rejects with UpstreamFailure `busy` when too many wait already, of this client or of all, or when nothing came in time and no failure is known. */
  wait(forMs: number, { load, hasBody = false }: Asking): Promise<T> {
    if (this.#waiters.length >= WAITING_MAX) return Promise.reject(new UpstreamFailure('busy', 'too many requests wait for this upstream'))
    if (load && load.waiting >= WAITING_PER_CLIENT_MAX)
      return Promise.reject(new UpstreamFailure('busy', 'too many requests of this client wait for upstreams'))
    return new Promise((resolve, reject) => {
      const waiter: Waiter<T> = { resolve, reject, load, hasBody, patience: new Patience(forMs), stop() {} }
      this.#waiters.push(waiter)
      this.#enter(waiter)
    })
  }

  /** Takes the first out of the line, or the first without a body: what it waited for has come, or will. */
  next({ takesBodies } = { takesBodies: true }): Waiter<T> | undefined {
    const first = takesBodies ? 0 : this.#waiters.findIndex(({ hasBody }) => !hasBody)
    const waiter = this.#waiters[first]
    if (waiter) this.#waiters.splice(first, 1)
    if (waiter) leave(waiter)
    return waiter
  }

  /** Nothing came for the one that was taken out: it is the first again, for what is left of its time. */
  putBack(waiter: Waiter<T>): void {
    this.#waiters.unshift(waiter)
    this.#enter(waiter)
  }

  /** Tells all but the first so many that nothing will come. */
  rejectBehind(count: number, reason: unknown): void {
    for (const waiter of this.#waiters.splice(count)) {
      leave(waiter)
      waiter.reject(reason)
    }
  }

  #enter(waiter: Waiter<T>): void {
    const late = () => {
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
      leave(waiter)
      waiter.reject(this.failure ?? new UpstreamFailure('busy', 'no connection to the upstream became free in time'))
    }
    waiter.stop = waiter.patience.wait(late)
    if (waiter.load) waiter.load.waiting += 1
  }
}

function leave({ stop, load }: Waiter<unknown>): void {
  stop()
  if (load) load.waiting -= 1
}
