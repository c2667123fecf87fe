import type { Hostname } from '../hostname.ts'
import { pause } from '../lib/back-off.ts'
import { Lru } from '../lib/lru.ts'
import { StringTable } from '../lib/string-table.ts'
import type { CopyReader } from '../replica/copy-reader.ts'
import type { RouteAnswer } from '../replica/messages.ts'
import type { LightRoute, ProjectPart, Route } from '../replica/rows.ts'

/** As the copy answers, with as much of the route as this process needs. */
export type LocalAnswer<Kept> = FoundRoute<Kept> | Exclude<RouteAnswer, { kind: 'route' }>
export type FoundRoute<Kept> = { kind: 'route'; route: Kept }

/** What a process remembers of the copy's routes, each under its claim's name. */
export type RouteMemory<Kept> = {
  get(hostname: Hostname): FoundRoute<Kept> | undefined
  set(found: FoundRoute<Kept>): void
  delete(hostname: Hostname): void
  /** None of these projects' routes is found from now on, until it has been set again. */
  forgetProjects(ids: ReadonlySet<string>): void
  clear(): void
  /** What the routes take, and while they are read for the first time what they may take. */
  bytes(): number
  close(): void
}

const ROUTES_IN_MEMORY_MAX = 100_000
const USED_ROUTE_BYTES = 350 // without its metadata
const LIGHT_ROUTES_IN_MEMORY_MAX = 1_000_000
const LIGHT_ROUTE_BYTES = 50
const FILL_AFTER_MS = 500
const FILL_PAUSE_MS = 4
const FILL_ROUTES = 200 // some 0.4 ms

/** The routes that were used lately. */
export function rememberUsed<Kept extends Pick<Route, 'hostname' | 'projectId'>>(): RouteMemory<Kept> {
  const routes = new Lru<Hostname, FoundRoute<Kept>>(ROUTES_IN_MEMORY_MAX)
  return {
    get: (hostname) => routes.get(hostname),
    set: (found) => routes.set(found.route.hostname, found),
    delete: (hostname) => void routes.delete(hostname),
    forgetProjects: (ids) => routes.deleteWhere(({ route }) => ids.has(route.projectId)),
    clear: () => routes.clear(),
    bytes: () => routes.size * USED_ROUTE_BYTES,
    close: () => {},
  }
}

/**
 * All routes of a copy, up to a million: of each the number of its project and two bits, of each project what its routes have in common. It is filled
 * from the copy by and by, anew after each `clear`, at some tenth of a core: so no hostname's first visitor waits for a look-up.
 */
export function rememberAll(reader: Pick<CopyReader, 'readRoutes'>): RouteMemory<LightRoute> {
  const routes = new StringTable(LIGHT_ROUTES_IN_MEMORY_MAX)
  const numbers = new Map<string, number>()
  const projects: ((ProjectPart & { projectId: string }) | undefined)[] = [undefined] // by their number; 0 is none's
  const set = ({ hostname, projectId, projectSlug, upstreamUrl, upstreamProtocol, verified, proofNeeded }: LightRoute) => {
    let number = numbers.get(projectId)
    if (number === undefined) {
      number = projects.length
      numbers.set(projectId, number)
    }
    const known = projects[number]
    const isKnown = known?.upstreamUrl === upstreamUrl && known.projectSlug === projectSlug && known.upstreamProtocol === upstreamProtocol
    if (!isKnown) projects[number] = { projectId, projectSlug, upstreamUrl, upstreamProtocol }
    routes.set(hostname, number * 4 + Number(verified) * 2 + Number(proofNeeded))
  }
  const fill = async (stopping: AbortSignal) => {
    await pause(FILL_AFTER_MS, stopping)
    let last: Hostname | undefined
    do {
      if (stopping.aborted || routes.size >= LIGHT_ROUTES_IN_MEMORY_MAX) break
      const read = reader.readRoutes(last, FILL_ROUTES)
      read?.routes.forEach(set)
      last = read?.last
      await pause(FILL_PAUSE_MS, stopping)
    } while (last !== undefined)
    if (!stopping.aborted) reserved = 0
  }
  let reserved = LIGHT_ROUTES_IN_MEMORY_MAX * LIGHT_ROUTE_BYTES
  let filling: AbortController | undefined
  const fillAnew = () => {
    filling?.abort()
    filling = new AbortController()
    void fill(filling.signal)
  }
  fillAnew()
  return {
    get(hostname) {
      const kept = routes.get(hostname)
      const project = projects[kept >>> 2]
      if (project === undefined) return undefined
      const { projectId, projectSlug, upstreamUrl, upstreamProtocol } = project
      const verified = (kept & 2) !== 0
      const proofNeeded = (kept & 1) !== 0
      return { kind: 'route', route: { hostname, projectId, projectSlug, upstreamUrl, upstreamProtocol, verified, proofNeeded } }
    },
    set: ({ route }) => set(route),
    delete: (hostname) => routes.delete(hostname),
    forgetProjects(ids) {
      for (const id of ids) {
        const number = numbers.get(id)
        if (number !== undefined) projects[number] = undefined
      }
    },
    clear() {
      reserved = Math.max(reserved, routes.bytes) // for those that come again: room that others must give up is not asked of them for a moment
      routes.clear()
      numbers.clear()
      projects.length = 1
      fillAnew()
    },
    bytes: () => Math.max(reserved, routes.bytes),
    close: () => filling?.abort(),
  }
}
