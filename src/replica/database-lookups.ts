import { type Hostname, wildcardOver } from '../hostname.ts'
import { TokenBucket } from '../lib/token-bucket.ts'
import { within } from './deadline.ts'
import type { RouteAnswer } from './messages.ts'
import type { CertificateRow, Route } from './rows.ts'

export type DatabaseLookupParts = {
  findRoutes(hostnames: Hostname[]): Promise<Route[]>
  /** Of a bounded copy: puts what was found into it. Called only while nothing newer has been seen. */
  keep?: { findCertificates(hostnames: Hostname[]): Promise<CertificateRow[]>; put(found: Found): void }
  now: () => number
}

export type DatabaseLookups = {
  find(hostname: Hostname): Promise<RouteAnswer>
  /** The copy has news of these names (or of any): look-ups under way, also of what a wildcard covers, may have been answered before it. */
  changed(hostnames: readonly Hostname[] | 'all'): void
  counts(): { asked: number; turnedAway: number }
}

const LOOKUPS = { perSecond: 50, burst: 50 }
/** Each has a connection to itself: see roles/follower-databases.ts. */
export const LOOKUPS_RUNNING_MAX = 3
const LOOKUPS_WAITED_FOR_MAX = 100
const LOOKUP_TIMEOUT_MS = 1_500
const TRIES_MAX = 3

export type Found = { hostname: Hostname; routes: Route[]; certificates: CertificateRow[] }

type News = { overtaken: boolean }
type Running = { answer: Promise<RouteAnswer>; news: News }

/**
 * Routes straight from the database, for the time in which a miss in the copy means nothing. One query a hostname, however many ask; 50 a
 * second for the machine, and of 100 at once three are under way and the others wait; the rest, and what fails or takes too long, is `unavailable`.
 * Never rejects.
 */
export function createDatabaseLookups(parts: DatabaseLookupParts): DatabaseLookups {
  const { keep } = parts
  const byHostname = new Map<Hostname, Running>()
  const lookups = new TokenBucket(LOOKUPS, parts.now())
  const waiting = new Map<News, () => void>()
  let running = 0
  let asked = 0
  let turnedAway = 0

  const takePlace = async (news: News): Promise<void> => {
    if (running < LOOKUPS_RUNNING_MAX) running += 1
    else await new Promise<void>((resolve) => waiting.set(news, resolve))
  }
  /** The newest is next: the oldest would be answered when nobody waits for it any more. */
  const leavePlace = (): void => {
    const [news, begin] = [...waiting].at(-1) ?? []
    if (news) waiting.delete(news)
    if (begin) begin()
    else running -= 1
  }
  /** News that comes meanwhile begins it again; of a bounded copy, route and certificates are in it before anybody hears of the route. */
  const load = async (hostname: Hostname, news: News): Promise<Route | undefined> => {
    for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
      news.overtaken = false
      const routes = await parts.findRoutes([hostname, wildcardOver(hostname)])
      const certificates = keep && routes.length > 0 ? await keep.findCertificates(routes.map((route) => route.hostname)) : []
      if (byHostname.get(hostname)?.news !== news) throw new Error('nobody waits for it, nor told it of news since')
      if (news.overtaken) continue
      if (routes.length > 0) keep?.put({ hostname, routes, certificates })
      return routes.find((row) => row.hostname === hostname) ?? routes[0]
    }
    throw new Error('it changes faster than it can be read')
  }
  const inTurn = async (hostname: Hostname, news: News): Promise<Route | undefined> => {
    await takePlace(news) // for ever, if nobody waits for it when its turn would come
    try {
      return await load(hostname, news)
    } finally {
      leavePlace() // when the queries themselves end, also when nobody waits for them any more
    }
  }
  const answer = async (hostname: Hostname, news: News): Promise<RouteAnswer> => {
    try {
      const route = await within(LOOKUP_TIMEOUT_MS, 'a look-up', inTurn(hostname, news))
      return route ? { kind: 'route', route } : { kind: 'unknown' }
    } catch {
      return { kind: 'unavailable' }
    } finally {
      byHostname.delete(hostname)
      waiting.delete(news)
    }
  }

  return {
    find(hostname) {
      const known = byHostname.get(hostname)
      if (known) return known.answer
      if (byHostname.size >= LOOKUPS_WAITED_FOR_MAX || !lookups.take(parts.now())) {
        turnedAway += 1
        return Promise.resolve({ kind: 'unavailable' })
      }
      asked += 1
      const news = { overtaken: false }
      const entry = { answer: answer(hostname, news), news }
      byHostname.set(hostname, entry)
      return entry.answer
    },
    changed(hostnames) {
      const changed = new Set(hostnames === 'all' ? [] : hostnames)
      for (const [hostname, { news }] of byHostname) {
        news.overtaken ||= hostnames === 'all' || changed.has(hostname) || changed.has(wildcardOver(hostname))
      }
    },
    counts: () => ({ asked, turnedAway }),
  }
}
