import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { pause } from '../lib/back-off.ts'
import { createOnce } from '../lib/once.ts'
import { readPostgresUrl, type SessionNeed } from '../lib/postgres-url.ts'
import type { Log } from '../log.ts'
import { createKnocks, type Found } from './database-knocks.ts'
import { isReachable } from './database-socket.ts'
import type { ServerState } from './server-state.ts'

/** One place where the database may be: a server of the address, and the one of its IP addresses that is meant. */
export type Place = { name: string; host: string; port: number; url: string; address: string | undefined }

/** Where connections go, shared by all of one process that are made for one address. */
export type DatabaseHosts = {
  /** Of the first server: user, password, database and TLS are the same for all. */
  firstUrl: string
  /** The place for the next connection: the last good one while nothing speaks against it, else the servers are asked. Rejects when none will do. */
  choose(): Promise<Place>
  /** Whether the session that stands may be used, by what its server says. Throws when it may not. */
  require(place: Place, state: ServerState): void
  /** A connection to this place was lost or refused: the servers are asked before the next one is made. */
  doubt(place: Place): void
  /** Whether connections are taken at the place, whoever takes them, or were within the last seconds. Never rejects. */
  isReached(place: Place): Promise<boolean>
  /** Calls `leave` when connections to the place are to be given up, because the database is elsewhere now; returns what ends that. */
  whenMoved(place: Place, leave: () => void): () => void
}

const ASK_AGAIN_MS = 500
const REACHED_FOR_MS = 5_000 // each look leaves a connection in the line of a server that stands still, see database-knocks.ts
const OTHERS_GRACE_MS = 250 // of two that accept writes the newer one counts, so the others are heard too

/**
 * The servers of an address with libpq's meaning of several hosts and `target_session_attrs`, which node-postgres lacks. One host without that
 * setting is connected to as it is, but by one at first where it was lost. Where several accept writes (an old primary came back), the one promoted
 * last is taken, and this process never goes back to one of an older timeline. `need` is for several hosts without that setting.
 */
export function createDatabaseHosts(url: string, options: { log?: Log; need?: SessionNeed } = {}): DatabaseHosts {
  const { hosts, need: asked, shuffled } = readPostgresUrl(url)
  const need = asked ?? (hosts.length > 1 ? (options.need ?? 'read-write') : 'any')
  const isSought = hosts.length > 1 || need !== 'any'
  const order = shuffled ? hosts.toSorted(() => Math.random() - 0.5) : hosts
  const leavers = new Map<() => void, string>()
  const newest = new Map<string, number>()
  const knock = createKnocks()
  const reachedAt = new Map<string, number>()
  const reaches = createOnce<string, boolean>()
  let isDoubted = false
  let good: Place | undefined
  let last: string | undefined
  let seeking: Promise<Place> | undefined

  /** Of several that will do, the lowest is taken. */
  const rank = ({ standby, timeline }: ServerState): number => {
    if (need === 'prefer-standby') return standby ? 0 : 1
    return need === 'read-write' || need === 'primary' ? -timeline : 0
  }

  const refusal = (state: ServerState): string | undefined => {
    const seen = newest.get(state.system) ?? 0
    if (!state.standby && state.timeline < seen) return `is an old primary (timeline ${state.timeline}, the database is at ${seen})`
    if (!state.standby) newest.set(state.system, state.timeline)
    return unfit(need, state)
  }

  const seek = async (): Promise<Place> => {
    const places = (await Promise.all(order.map(placesOf))).flat()
    const found = await ask(places, need, knock)
    const fit = found.filter((one): one is Found & { state: ServerState } => one.state !== undefined && !unfit(need, one.state))
    const [best] = fit.toSorted((a, b) => rank(a.state) - rank(b.state) || Number(b.place.name === last) - Number(a.place.name === last))
    const stale = best && refusal(best.state)
    if (!best || stale) throw noServer(need, found, best && { place: best.place, reason: stale })
    if (last !== undefined && last !== best.place.name)
      options.log?.warn({ from: last, to: best.place.name }, 'the database is at another server now')
    good = best.place
    last = best.place.name
    for (const [leave, name] of [...leavers]) if (name !== last) leave()
    return best.place
  }

  /**
   * Where the only server says nothing, one waits for it in the name of all: a pool would fill its line. What else is wrong, the connection itself says
   * best.
   */
  const onlyPlace = async (): Promise<Place> => {
    const place = placeOf(order[0]!)
    const { state, isLate, reason } = await knock(place)
    if (isLate) throw unreachable(`${place.name} ${reason}`)
    if (state) isDoubted = false
    return place
  }

  const reach = async (place: Place): Promise<boolean> => {
    const isReached = await isReachable(place.address ?? place.host, place.port)
    if (isReached) reachedAt.set(place.name, performance.now())
    return isReached
  }

  return {
    firstUrl: order[0]!.url,
    async choose() {
      if (!isSought) return isDoubted ? onlyPlace() : placeOf(order[0]!)
      if (good) return good
      seeking ??= seek().finally(() => {
        seeking = undefined
      })
      return seeking
    },
    require(place, state) {
      const reason = isSought ? refusal(state) : undefined
      if (!reason) return
      if (good?.name === place.name) good = undefined
      throw unreachable(`${place.name} ${reason}`)
    },
    doubt(place) {
      isDoubted = true
      if (good?.name === place.name) good = undefined
    },
    isReached: async (place) =>
      performance.now() - (reachedAt.get(place.name) ?? -Infinity) < REACHED_FOR_MS || reaches(place.name, () => reach(place)),
    whenMoved(place, leave) {
      if (isSought) leavers.set(leave, place.name)
      return () => void leavers.delete(leave)
    },
  }
}

type Host = { host: string; port: number; url: string }

function placeOf(host: Host, address?: string): Place {
  return { ...host, name: address === undefined ? nameOf(host) : `${nameOf(host)} (${address})`, address }
}

function nameOf({ host, port }: Host): string {
  if (host.startsWith('/')) return `${host} (port ${port})`
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}

/** A name may stand for several servers, as managed services have it: each of its addresses is a place. */
async function placesOf(host: Host): Promise<Place[]> {
  if (host.host.startsWith('/') || isIP(host.host) !== 0) return [placeOf(host)]
  const found = await lookup(host.host, { all: true }).catch(() => [])
  return found.length <= 1 ? [placeOf(host)] : found.map(({ address }) => placeOf(host, address))
}

/**
 * Asks all at once. Waits for every answer up to its deadline, but not for long once somebody has answered who accepts writes. While others are
 * silent, who answered and will not do is asked again: it may be promoted in their place at any moment.
 */
async function ask(places: Place[], need: SessionNeed, knock: (place: Place) => Promise<Found>): Promise<Found[]> {
  const found = new Map<Place, Found>()
  const enough = Promise.withResolvers<void>()
  const over = new AbortController()
  let grace: NodeJS.Timeout | undefined
  const askUntilFit = async (place: Place) => {
    while (!over.signal.aborted) {
      const answer = await knock(place)
      if (over.signal.aborted) return
      found.set(place, answer)
      if (answer.state && !answer.state.readOnly) grace ??= setTimeout(enough.resolve, OTHERS_GRACE_MS)
      if (found.size === places.length) return enough.resolve()
      if (!answer.state || !unfit(need, answer.state)) return
      await pause(ASK_AGAIN_MS, over.signal)
    }
  }
  for (const place of places) void askUntilFit(place)
  await enough.promise
  over.abort()
  clearTimeout(grace)
  return places.map((place) => found.get(place) ?? { place, reason: 'has not answered yet' })
}

/** Why a server that says this cannot be used, or undefined when it can. */
function unfit(need: SessionNeed, { standby, readOnly }: ServerState): string | undefined {
  switch (need) {
    case 'any':
    case 'prefer-standby':
      return undefined
    case 'read-write':
      return standby ? 'is a standby' : readOnly ? 'accepts no writes' : undefined
    case 'read-only':
      return readOnly ? undefined : 'accepts writes'
    case 'primary':
      return standby ? 'is a standby' : undefined
    case 'standby':
      return standby ? undefined : 'is no standby'
    default:
      return need satisfies never
  }
}

function noServer(need: SessionNeed, found: Found[], stale: { place: Place; reason: string | undefined } | undefined): Error {
  const reasons = found.map(({ place, state, reason }) => {
    if (place === stale?.place) return `${place.name} ${stale.reason}`
    return `${place.name} ${reason ?? (state && unfit(need, state)) ?? 'is older'}`
  })
  return unreachable(`no server is there for ${need}: ${reasons.join('; ')}`)
}

/** SQLSTATE 08001: the client was unable to establish the connection. */
function unreachable(message: string): Error {
  return Object.assign(new Error(message), { code: '08001' })
}
