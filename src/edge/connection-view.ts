import { type HostnameReading, readHostname } from '../hostname.ts'
import type { AddressSet } from '../lib/addresses.ts'
import type { VisitorConnection } from './engine.ts'
import { visitorLines } from './forwarded-request.ts'
import { hostOf } from './host.ts'

/** What is the same for request after request of one connection, worked out once: most visitors ask for one authority all the time. */
export class ConnectionView {
  readonly isTrusted: boolean
  readonly #peer: string
  #authority: string | undefined
  #reading: HostnameReading | undefined
  #lines: string | undefined

  constructor(peer: string, isTrusted: boolean) {
    this.#peer = peer
    this.isTrusted = isTrusted
  }

  /** The hostname in an authority. */
  read(authority: string): HostnameReading {
    this.#turnTo(authority)
    this.#reading ??= readHostname(hostOf(authority))
    return this.#reading
  }

  /** What an upstream is told of a visitor for whom no proxy vouches. */
  visitorLines(authority: string): string {
    this.#turnTo(authority)
    this.#lines ??= visitorLines(this.#peer, authority)
    return this.#lines
  }

  #turnTo(authority: string): void {
    if (authority === this.#authority) return
    this.#authority = authority
    this.#reading = undefined
    this.#lines = undefined
  }
}

export function createConnectionViews(trustedProxies: AddressSet): (connection: VisitorConnection) => ConnectionView {
  const views = new WeakMap<VisitorConnection, ConnectionView>()
  return (connection) => {
    const known = views.get(connection)
    if (known) return known
    const view = new ConnectionView(connection.peer, trustedProxies.has(connection.peer))
    views.set(connection, view)
    return view
  }
}
