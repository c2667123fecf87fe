import { type ExactHostname, type HostnameReading, isPlainHostname, readHostname } from '../hostname.ts'
import type { AddressSet } from '../lib/addresses.ts'
import { LastSaid } from './access-log.ts'
import type { ClientLoad } from './admission.ts'
import type { VisitorConnection } from './engine.ts'
import { ForwardedFields, type ForwardedLines } from './forwarded-lines.ts'
import { forwardedLines, type RequestFields } from './forwarded-request.ts'
import { type HostAnswer, hostOf } from './host.ts'
import { REMEMBERED_BYTES_MAX } from './kept-bytes.ts'
import type { RequestId } from './request-ids.ts'

/** Where the view is kept: on the connection itself, since a map of so many that come and go would be renewed all the time. */
const VIEW = Symbol('view')

/** What is the same for request after request of one connection, worked out once: most visitors ask for one authority all the time. */
export class ConnectionView {
  readonly isTrusted: boolean
  /** What its client takes; undefined where that is not counted. */
  readonly load: ClientLoad | undefined
  readonly lastSaid = new LastSaid()
  readonly #peer: string
  readonly #servername: ExactHostname | undefined
  #authority: string | undefined
  #reading: HostnameReading | undefined
  #fields: RequestFields | undefined
  #lines: ForwardedLines | undefined
  #host: HostAnswer | undefined
  #hostRevision = 0

  constructor({ peer, servername }: VisitorConnection, isTrusted: boolean, load: ClientLoad | undefined) {
    this.#peer = peer
    this.#servername = servername
    this.isTrusted = isTrusted
    this.load = load
  }

  /**
   * The hostname in an authority. The connection's own is its servername itself, for which a look at where it lies tells that they are the same.
   * Another plain one is not kept: to read it again costs less than to keep it, for a proxy's connection that asks for one after the other.
   */
  read(authority: string): HostnameReading {
    if (authority === this.#authority && this.#reading !== undefined) return this.#reading
    if (authority !== this.#servername && isPlainHostname(authority)) return { kind: 'hostname', hostname: authority }
    this.#authority = authority
    this.#reading = this.#readAnew(authority)
    return this.#reading
  }

  #readAnew(authority: string): HostnameReading {
    const reading = readHostname(hostOf(authority))
    const isOwn = reading.kind === 'hostname' && reading.hostname === this.#servername
    return isOwn ? { kind: 'hostname', hostname: this.#servername } : reading
  }

  /** The end-to-end lines of a request as its upstream gets them. */
  forwardedFields(fields: RequestFields, authority: string, id: RequestId): ForwardedFields {
    const known = fields === this.#fields ? this.#lines : undefined
    const lines = known ?? forwardedLines(fields, { peer: this.#peer, isTrusted: this.isTrusted })
    if (known === undefined) {
      const isSmall = fields.passing.length + fields.vouched.length <= REMEMBERED_BYTES_MAX
      this.#fields = isSmall ? fields : undefined
      this.#lines = isSmall ? lines : undefined
    }
    return new ForwardedFields(lines, authority, id)
  }

  /** What the connection's own name leads to, if that was kept and all hosts have been the same since. */
  hostAt(revision: number): HostAnswer | undefined {
    return revision === this.#hostRevision ? this.#host : undefined
  }

  keepHost(host: HostAnswer, revision: number): void {
    this.#host = host
    this.#hostRevision = revision
  }
}

export function createConnectionViews(
  trustedProxies: AddressSet,
  loadOf: (address: string) => ClientLoad | undefined,
): (connection: VisitorConnection) => ConnectionView {
  const newView = (connection: VisitorConnection): ConnectionView => {
    const isTrusted = trustedProxies.has(connection.peer)
    return new ConnectionView(connection, isTrusted, isTrusted ? undefined : loadOf(connection.peer)) // not its neighbour's in the same /64
  }
  return (connection: VisitorConnection & { [VIEW]?: ConnectionView }) => {
    connection[VIEW] ??= newView(connection)
    return connection[VIEW]
  }
}
