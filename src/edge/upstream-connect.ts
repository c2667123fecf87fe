import { isIP, isIPv6, type Socket } from 'node:net'
import { getCACertificates, type SecureContext, type TLSSocket } from 'node:tls'
import { limitKeyUpdates } from '../lib/key-updates.ts'
import { Lru } from '../lib/lru.ts'
import { contextForStrangers } from '../lib/stranger-context.ts'
import { lookThroughTls } from '../lib/tls-look.ts'
import { hearLastWords } from './last-words.ts'
import { letGo } from './let-go.ts'
import { Patience } from './patience.ts'
import { TCP_KEEP_ALIVE_MS } from './timeouts.ts'
import { type FailureReason, type Upstream, UpstreamFailure } from './upstream.ts'
import type { UpstreamGuard } from './upstream-guard.ts'
import { borrowBytes, connectSharing } from './upstream-reads.ts'

export type ConnectParts = {
  guard: UpstreamGuard
  connectTimeoutMs: number
  /** Local addresses to connect from; none: the system's choice. */
  sourceIps: readonly string[]
  /** Trust roots besides the well-known ones, PEM. */
  ca: readonly string[]
  /** Of all that a server may say on a connection over TLS; without it there is no limit. */
  bytesMax?: number
}

/** Who resumes is shown no certificate: it resumes until the one that it has been shown ends. */
type Session = { ticket: Buffer; endsAtMs: number }

const TLS_SESSIONS_MAX = 500
/** Servers give up to four. Each takes us time, and a megabyte holds forty thousand. */
const TICKETS_MAX = 16
/** While an upstream has further addresses, each gets this much of the time. */
const ADDRESS_TIMEOUT_MS = 1_500
/** With less left no further one is tried, which would only look as if it had failed. */
const ATTEMPT_MS_MIN = 50
/** For so long an address that took no connection comes behind the others: else each new connection would wait for it first. */
const AVOIDED_MS = 10_000
const AVOIDED_MAX = 1_000

/**
 * Opens connections to upstreams: DNS with the guard's refusals, the addresses one after the other, those last that have just failed, then TLS
 * verified by the upstream's own name. Rejects with UpstreamFailure, `timeout` when all that took longer than the connect time-out, `busy` when this
 * machine could not even try.
 */
export function createConnect(parts: ConnectParts) {
  let context: SecureContext | undefined
  const sessions = new Lru<string, Session>(TLS_SESSIONS_MAX)
  const failed = new Lru<string, number>(AVOIDED_MAX)
  let connects = 0

  /** In the resolver's order, but for those that have just failed. */
  const inOrder = (addresses: string[], { key }: Upstream): string[] => {
    const nowMs = performance.now()
    const hasFailed = (address: string) => nowMs - (failed.peek(`${key} ${address}`) ?? Number.NEGATIVE_INFINITY) < AVOIDED_MS
    return addresses.toSorted((one, other) => Number(hasFailed(one)) - Number(hasFailed(other)))
  }

  const sourcesFor = (address: string) => parts.sourceIps.filter((source) => isIPv6(source) === isIPv6(address))
  const isReachable = (address: string) => parts.sourceIps.length === 0 || sourcesFor(address).length > 0

  /** Each source in its turn, so that their ports are used up alike. */
  const sourceFor = (address: string, turn: number): { localAddress?: string } => {
    const sources = sourcesFor(address)
    return sources.length === 0 ? {} : { localAddress: sources[turn % sources.length]! }
  }

  const secure = async (socket: Socket, upstream: Upstream, patience: Patience): Promise<TLSSocket> => {
    const name = upstream.host.replace(/\.$/, '') // RFC 6066 §3: a servername has no final dot
    const known = sessions.peek(upstream.key)
    context ??= contextForStrangers(parts.ca.length > 0 ? { ca: [...getCACertificates('default'), ...parts.ca] } : {})
    hearLastWords(socket) // it is this one that a write fails on
    const tls = lookThroughTls({
      socket,
      borrow(take) {
        borrowBytes(socket, (bytes) => {
          take(bytes)
          letGo(bytes)
        })
      },
      bytesMax: parts.bytesMax ?? Number.POSITIVE_INFINITY,
      secureContext: context,
      host: upstream.host,
      ...(isIP(name) ? {} : { servername: name }),
      ALPNProtocols: [upstream.protocol === 'h2' ? 'h2' : 'http/1.1'],
      ...(known && Date.now() < known.endsAtMs ? { session: known.ticket } : {}),
    })
    tls.on('error', () => {}) // also where nobody listens any more: OpenSSL reads on behind our end of it what has come in the same bytes
    limitKeyUpdates(tls)
    let tickets = 0
    let endsAtMs: number | undefined
    tls.on('session', (ticket) => {
      tickets += 1
      if (tickets > TICKETS_MAX) tls.destroy()
      if (tls.destroyed) return
      endsAtMs ??= known && tls.isSessionReused() ? known.endsAtMs : Date.parse(tls.getPeerCertificate().valid_to)
      sessions.set(upstream.key, { ticket, endsAtMs })
    })
    try {
      await until(tls, 'secureConnect', patience)
    } catch (error) {
      sessions.delete(upstream.key)
      throw asFailure(error, 'tls', upstream)
    }
    if (upstream.protocol === 'h2' && tls.alpnProtocol !== 'h2') {
      tls.destroy()
      throw new UpstreamFailure('tls', `${upstream.host}:${upstream.port} does not offer HTTP/2 (ALPN h2)`)
    }
    return tls
  }

  return async function connect(upstream: Upstream): Promise<Socket> {
    const patience = new Patience(parts.connectTimeoutMs)
    const addresses = inOrder((await before(patience, parts.guard.addressesOf(upstream))).filter(isReachable), upstream)
    const turn = connects++
    let failure: UpstreamFailure | undefined
    for (const [i, address] of addresses.entries()) {
      const isLast = i === addresses.length - 1
      const untilLeftMs = isLast ? 0 : Math.max(0, patience.leftMs - ADDRESS_TIMEOUT_MS)
      const target = { host: address, port: upstream.port, noDelay: true, ...sourceFor(address, turn) }
      const socket = connectSharing(target)
      try {
        await until(socket, 'connect', patience, untilLeftMs)
        socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS)
        return upstream.isTls ? await secure(socket, upstream, patience) : socket
      } catch (error) {
        const found = asFailure(error, 'unreachable', upstream)
        if (found.reason !== 'busy') failed.set(`${upstream.key} ${address}`, performance.now())
        if (found.reason !== 'busy' || !failure) failure = found // what came from the upstream itself goes before it
        if (patience.leftMs < ATTEMPT_MS_MIN) break
      }
    }
    throw failure ?? new UpstreamFailure('unreachable', `no source address fits an address of ${upstream.host}`)
  }
}

const REASONS: Record<string, FailureReason> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ETIMEDOUT: 'timeout',
}

const NO_SOURCE =
  'this machine has no source address or no free port for it (NAMESAKE_UPSTREAM_SOURCE_IPS; more of them have more ports, as has sysctl net.ipv4.ip_local_port_range)'
const NO_MEMORY = 'this machine has no memory left for connections'
/** What this machine lacks, which says nothing about the upstream. */
const LACKS: Record<string, string> = {
  EMFILE: 'this process may open no more files (LimitNOFILE in the systemd unit, or ulimit -Hn)',
  ENFILE: 'this machine may open no more files (sysctl fs.file-max)',
  EADDRNOTAVAIL: NO_SOURCE,
  EADDRINUSE: NO_SOURCE,
  ENOBUFS: NO_MEMORY,
  ENOMEM: NO_MEMORY,
}

function asFailure(error: unknown, otherwise: FailureReason, upstream: Upstream): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error
  const { code = '', message } = error as NodeJS.ErrnoException
  const lack = LACKS[code]
  const reason = lack ? 'busy' : (REASONS[code] ?? otherwise)
  return new UpstreamFailure(reason, `${upstream.host}:${upstream.port}: ${lack ? `${lack}: ` : ''}${message}`, { cause: error })
}

function until(socket: Socket, event: 'connect' | 'secureConnect', patience: Patience, untilLeftMs = 0): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      stop()
      socket.off(event, settle).off('error', settle).off('close', closed)
      if (!error) return resolve()
      socket.on('error', () => {})
      socket.destroy()
      reject(error)
    }
    const closed = () => settle(new UpstreamFailure('reset', 'the upstream closed the connection at once'))
    const late = () => settle(new UpstreamFailure('timeout', 'the upstream could not be connected in time'))
    const stop = patience.wait(late, untilLeftMs)
    socket
      .once(event, () => settle())
      .once('error', settle)
      .once('close', closed)
  })
}

function before<T>(patience: Patience, task: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new UpstreamFailure('timeout', "the upstream's name could not be resolved in time"))
    task.finally(patience.wait(late)).then(resolve, reject)
  })
}
