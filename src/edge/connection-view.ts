import { type HostnameReading, readHostname } from '../hostname.ts'
import type { AddressSet } from '../lib/addresses.ts'
import type { VisitorConnection } from './engine.ts'
import { type ForwardedLines, forwardedLines, type RequestFields } from './forwarded-request.ts'
import { hostOf } from './host.ts'

/** Where the view is kept: on the connection itself, since a map of so many that come and go would be renewed all the time. */
const VIEW = Symbol('view')

/** What is the same for request after request of one connection, worked out once: most visitors ask for one authority all the time. */
export class ConnectionView {
  readonly isTrusted: boolean
  readonly #peer: string
  #authority: string | undefined
  #reading: HostnameReading | undefined
  #fields: RequestFields | undefined
  #lines: ForwardedLines | undefined

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

  /** The end-to-end lines of a request as its upstream gets them. */
  forwardedLines(fields: RequestFields, authority: string, requestId: string): string {
    this.#turnTo(authority)
    if (fields !== this.#fields || this.#lines === undefined) {
      this.#fields = fields
      this.#lines = forwardedLines(fields, { peer: this.#peer, isTrusted: this.isTrusted, authority })
      joinNow(this.#lines.before)
    }
    const { before, id, behind } = this.#lines
    return before + (id ?? requestId) + behind
  }

  #turnTo(authority: string): void {
    if (authority === this.#authority) return
    this.#authority = authority
    this.#reading = undefined
    this.#lines = undefined
  }
}

/** Engines join the pieces of a string once somebody looks into it: here, and not in each of the longer strings that it becomes a piece of. */
function joinNow(text: string): void {
  text.charCodeAt(0)
}

export function createConnectionViews(trustedProxies: AddressSet): (connection: VisitorConnection) => ConnectionView {
  return (connection: VisitorConnection & { [VIEW]?: ConnectionView }) =>
    (connection[VIEW] ??= new ConnectionView(connection.peer, trustedProxies.has(connection.peer)))
}
