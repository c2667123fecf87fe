import type { Socket } from 'node:net'
import { type AddressSet, addressKey } from '../lib/addresses.ts'
import { createSeldom } from '../lib/seldom.ts'
import type { Log } from '../log.ts'

/** How many connections of visitors are held at once (0: as many as come), and to upstreams (without: as many as are needed). */
export type ConnectionCeilings = { processMax: number; perClientMax: number; upstreamMax?: number }

/**
 * What one client (an IPv4 address or an IPv6 /64) takes of this process: connections, exchanges on them, requests that wait for a connection to
 * their upstream, and those that are held while theirs is away.
 */
export type ClientLoad = { connections: number; exchanges: number; waiting: number; held: number }

/** Visitors' connections of this process from their accept on, and how many there may be (0: as many as come, or none any more). */
export type AdmissionCounts = { open: number; max: number }

export const TURNED_AWAY_REASONS = ['process', 'client'] as const
export type TurnedAwayReason = (typeof TURNED_AWAY_REASONS)[number]

const LOOKED_AT_AGAIN_MS = 1_000

export type AdmissionParts = {
  log: Log
  ceilings: ConnectionCeilings
  /** Proxies whose connections carry many visitors each: they count for the process only. */
  trustedProxies: AddressSet
  onTurnedAway(reason: TurnedAwayReason): void
  /** Milliseconds that never go back. */
  now?: () => number
}

export type Admission = ReturnType<typeof createAdmission>

/**
 * Counts the connections of visitors, of this process and of each client (an IPv4 address or an IPv6 /64), and says who may stay: beyond a
 * ceiling it is the newest that goes, before its first byte is read. What is turned away is counted, and logged once a minute at most.
 */
export function createAdmission({ log, ceilings, trustedProxies, onTurnedAway, now = () => performance.now() }: AdmissionParts) {
  const { processMax, perClientMax } = ceilings
  const byClient = new Map<string, ClientLoad>()
  const seldom = { process: createSeldom(now), client: createSeldom(now) }
  /** Those that are looked at again: once, however often their last connection goes. */
  const lingering = new Set<ClientLoad>()
  let open = 0
  let isDraining = false

  const turnAway = (reason: TurnedAwayReason, details: object): 'turned-away' => {
    onTurnedAway(reason)
    seldom[reason]((turnedAway) => log.warn({ ...details, turnedAway }, ADVICE[reason]))
    return 'turned-away'
  }

  const loadBy = (key: string): ClientLoad => {
    const known = byClient.get(key)
    if (known) return known
    const load = { connections: 0, exchanges: 0, waiting: 0, held: 0 }
    byClient.set(key, load)
    return load
  }

  const leave = (key: string, load: ClientLoad) => {
    load.connections -= 1
    forgetOnceGone(key, load)
  }

  /** Not while its requests wait in a line: whoever leaves and comes again has had its share of that. */
  const forgetOnceGone = (key: string, load: ClientLoad) => {
    if (load.connections > 0 || lingering.has(load)) return
    if (load.waiting > 0) lookAgain(key, load)
    else if (byClient.get(key) === load) byClient.delete(key)
  }

  const lookAgain = (key: string, load: ClientLoad) => {
    lingering.add(load)
    const look = () => {
      lingering.delete(load)
      forgetOnceGone(key, load)
    }
    setTimeout(look, LOOKED_AT_AGAIN_MS).unref()
  }

  return {
    /** For a connection that was just accepted. One that is turned away is for the caller to close. */
    admit(socket: Socket): 'admitted' | 'turned-away' {
      if (processMax > 0 && open >= processMax) return turnAway('process', { connections: open, ceiling: processMax })
      open += 1
      socket.once('close', () => {
        open -= 1
      })
      return 'admitted'
    },
    /** Once its client's address is known: that of the connection, or the one that the PROXY protocol told. */
    admitClient(socket: Socket, address: string): 'admitted' | 'turned-away' {
      if (perClientMax === 0 || socket.destroyed || trustedProxies.has(address)) return 'admitted'
      const key = addressKey(address)
      const load = loadBy(key)
      if (load.connections >= perClientMax) return turnAway('client', { client: key, ceiling: perClientMax })
      load.connections += 1
      socket.once('close', () => leave(key, load))
      return 'admitted'
    },
    /** Of whom a connection from this address was admitted; undefined where nobody's share is counted. */
    loadOf: (address: string): ClientLoad | undefined => byClient.get(addressKey(address)),
    counts: (): AdmissionCounts => ({ open, max: isDraining ? 0 : processMax }),
    /** Nobody comes any more: what room there is is no room for anybody, beside the process that takes over. */
    drain() {
      isDraining = true
    },
  }
}

const ADVICE = {
  process:
    'connections were turned away: this edge process holds as many as NAMESAKE_EDGE_CONNECTIONS and its file descriptors allow. Raise both if there is memory for them (some 70 KB each), or add edge machines',
  client:
    'connections of a client were turned away: it holds as many as NAMESAKE_CLIENT_CONNECTIONS allows. If it is a proxy of yours, name it in NAMESAKE_TRUSTED_PROXIES; if many visitors share this address, raise the ceiling; else nothing is to be done',
}
