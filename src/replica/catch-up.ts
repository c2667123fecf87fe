import { type Hostname, readClaimName } from '../hostname.ts'
import { isSqliteError } from '../lib/sqlite-error.ts'
import { ALWAYS_USED_MS } from './copy-names.ts'
import type { Change, CopySource } from './copy-source.ts'
import type { CopyWriter, Snapshot } from './copy-writer.ts'
import { pagesWithin, within } from './deadline.ts'
import { createRecentReads } from './recent-reads.ts'
import type { CertificateRow, ChangedKeys, CopyBatch, Cursor, RouteRow, SettingRow } from './rows.ts'

export type CatchUpParts = {
  source: CopySource
  writer: CopyWriter
  /** The settings that edges and resolve need; others never enter the copy. */
  settingNames: readonly string[]
  now: () => number
  signal: AbortSignal
  onChanged(keys: ChangedKeys): void
  onReplaced(reason: string): void
  /** Changes that are about to be looked at: what was read of them (or of any) before may be older, or lost, and must not enter a bounded copy any more. */
  onSeen?(hostnames: readonly Hostname[] | 'all'): void
  /** Names that a bounded copy never lets go. */
  pinned?: readonly Hostname[]
  /** So many keys were loaded again because a promoted standby may have lost them. */
  onPromoted?(keys: number): void
}

export type CatchUp = {
  /** Brings the copy to where the database is; resolves with the moment that it then stands for. Rejects when the source does not answer. */
  run(): Promise<{ asOfMs: number }>
  /** The copy has rows of these names from a look-up: a promoted standby may lack what was looked up. */
  lookedUp(hostnames: readonly Hostname[]): void
}

/** The disk has no room for the copy that is to be made anew. */
export class NoRoomError extends Error {}

const CHANGES_PER_READ = 1_000
const HOSTNAMES_PER_PAGE = 1_000
const CERTIFICATES_PER_PAGE = 200 // each may have a chain of 64 KB: a thousand of somebody's would keep all others' news from slow lines
const READ_TIMEOUT_MS = 10_000
const PROJECTS_PER_PAGE = 100 // each may hold a page of 32 KB
const PAGE_TIMEOUT_MS = 60_000
// An unchanged copy is touched this seldom: a second's precision is in the heartbeat, the file only has to tell days from minutes.
const IDLE_WRITE_INTERVAL_MS = 5_000

type SnapshotPages = Pick<Snapshot, 'routes' | 'certificates' | 'usedAtMs' | 'pinned'>

/** One pass from the stored cursor to the feed's present end, by way of a snapshot where there is no cursor or the feed no longer reaches back to it. */
export function createCatchUp(parts: CatchUpParts): CatchUp {
  const { source, writer, now, signal, pinned = [] } = parts
  const recent = createRecentReads(now)
  let server: number | undefined
  let arePinned = writer.hostnamesMax === 0

  /** What is read of the feed says up to where the rows of the server are read that answers. */
  const readFeed = async <T>(what: string, promise: Promise<T>): Promise<T> => {
    const answer = await within(READ_TIMEOUT_MS, what, promise, signal)
    server = source.server?.()
    return answer
  }
  const read = async <T>(what: string, promise: Promise<T>): Promise<T> => {
    const answer = await within(READ_TIMEOUT_MS, what, promise, signal)
    requireSameServer()
    return answer
  }
  async function* readPages<T>(what: string, pages: AsyncIterable<T>): AsyncIterable<T> {
    for await (const page of pagesWithin(PAGE_TIMEOUT_MS, what, pages, signal)) {
      requireSameServer()
      yield page
    }
    requireSameServer()
  }
  /** Rows of a server that is behind would stay, since the feed is past their changes. */
  const requireSameServer = (): void => {
    if (source.server?.() !== server)
      throw new Error('the connection to the feed was lost in the middle, and the next may lead to another server')
  }

  /** The cursor comes first: what changes while the pages are read is in the feed after it, and is applied again. */
  const takeSnapshot = async (reason: string): Promise<void> => {
    const asOfMs = now()
    const cursor = await readFeed('the cursor', source.currentCursor())
    parts.onSeen?.('all')
    const settings = await loadSettings(parts.settingNames)
    const challenges = await read('the challenges', source.loadChallenges())
    const projects = readPages('a page of projects', source.eachProjectPage(PROJECTS_PER_PAGE))
    const pages = writer.hostnamesMax > 0 ? pagesOfSome() : pagesOfAll()
    recent.forget()
    try {
      await writer.replaceAll({ cursor, asOfMs, settings, challenges, projects, ...pages })
    } catch (error) {
      if (isSqliteError(error, 'full')) throw new NoRoomError(`there is no room for a new copy: ${(error as Error).message}`)
      throw error
    }
    parts.onReplaced(reason)
  }

  const pagesOfAll = (): SnapshotPages => ({
    routes: readPages('a page of routes', source.eachRoutePage(HOSTNAMES_PER_PAGE)),
    certificates: readPages('a page of certificates', source.eachCertificatePage(CERTIFICATES_PER_PAGE)),
  })

  /** What a bounded copy held before, the most recently used first, and others while there is room. */
  const pagesOfSome = (): SnapshotPages => {
    const before = new Map(writer.byUse().map(({ hostname, usedAtMs }) => [hostname, usedAtMs]))
    const taken = new Set<Hostname>()
    const room = () => writer.hostnamesMax - pinned.length - taken.size
    const take = (page: RouteRow[]): RouteRow[] => {
      const fitting = page.filter(({ hostname }) => !taken.has(hostname)).slice(0, Math.max(0, room()))
      for (const { hostname } of fitting) taken.add(hostname)
      return fitting
    }
    async function* routes(): AsyncIterable<RouteRow[]> {
      for (const page of pages([...before.keys()], HOSTNAMES_PER_PAGE)) yield take(await read('the routes', source.loadRoutes(page)))
      if (room() <= 0) return
      for await (const page of pagesOfAll().routes) {
        yield take(page)
        if (room() <= 0) return
      }
    }
    async function* certificates(): AsyncIterable<CertificateRow[]> {
      for (const page of pages([...taken, ...pinned], CERTIFICATES_PER_PAGE))
        yield await read('certificates', source.loadCertificates(page))
    }
    return { routes: routes(), certificates: certificates(), usedAtMs: (hostname) => before.get(hostname) ?? 0, pinned }
  }

  const loadSettings = async (names: readonly string[]): Promise<SettingRow[]> =>
    Promise.all(names.map(async (name) => ({ name, value: await read('a setting', source.readSetting(name)) })))

  const loadRoutes = async (hostnames: Hostname[]): Promise<Pick<CopyBatch, 'routes' | 'removed'>> => {
    const routes = hostnames.length > 0 ? await read('the routes', source.loadRoutes(hostnames)) : []
    return { routes, removed: missing(hostnames, routes) }
  }

  const loadCertificates = async (names: Hostname[], anew: boolean): Promise<Pick<CopyBatch, 'certificates' | 'removedCertificates'>> => {
    const certificates = names.length > 0 ? await read('certificates', source.loadCertificates(names)) : []
    return { certificates, removedCertificates: anew ? names : missing(names, certificates) }
  }

  /** One row each, however many hostnames refer to them; before the routes of the same read, which may be the first of theirs. */
  const applyProjects = async (ids: string[], anew: boolean): Promise<void> => {
    for (const page of pages(ids, PROJECTS_PER_PAGE)) {
      const projects = await read('the projects', source.loadProjects(page))
      const found = new Set(projects.map(({ id }) => id))
      writer.apply({ projects, removedProjects: anew ? page : page.filter((id) => !found.has(id)) })
      parts.onChanged({ ...NO_KEYS, projects: page })
    }
  }

  /** `anew`: what is in the copy may be of a future that was lost, so a row goes before the one that is loaded comes, whichever is newer. */
  const applyKeys = async (
    { projects, ...others }: ChangedKeys,
    anew: boolean,
    place: { cursor: Cursor; asOfMs?: number },
  ): Promise<void> => {
    await applyProjects(projects, anew)
    const keys = { ...others, projects: [] }
    parts.onSeen?.([...keys.routes, ...keys.certificates])
    const known = writer.known(keys.routes)
    const { routes, removed } = await loadRoutes(known)
    const names = [...pages(writer.known(keys.certificates), CERTIFICATES_PER_PAGE)]
    const last = names.pop() ?? []
    for (const page of names) writer.apply(await loadCertificates(page, anew)) // the place is the same until all are there
    const certificates = await loadCertificates(last, anew)
    const settings = await loadSettings(keys.settings.filter((name) => parts.settingNames.includes(name)))
    const challenges = keys.challenges.length > 0 ? await read('the challenges', source.loadChallenges()) : undefined
    writer.apply({ routes, removed: anew ? known : removed, ...certificates, settings, challenges, ...place })
    if (countOf(keys) > 0) parts.onChanged(keys)
  }

  /** A copy from before the service's own hosts were others knows nothing of these, and would pass their news over. */
  const pin = async (): Promise<void> => {
    if (arePinned) return
    const held = new Set(writer.known(pinned))
    const certificates = pinned.filter((hostname) => !held.has(hostname))
    const rows = certificates.length > 0 ? await read('certificates', source.loadCertificates(certificates)) : []
    writer.apply({ certificates: rows, known: pinned.map((hostname) => ({ hostname, usedAtMs: ALWAYS_USED_MS })) })
    arePinned = true
    if (certificates.length > 0) parts.onChanged({ ...NO_KEYS, certificates })
  }

  /** Goes back to the last place that the promoted server shares for certain, and loads again what was applied since. */
  const goBack = async (epoch: string, sharedLsn: string): Promise<'went-back' | 'unknown'> => {
    parts.onSeen?.('all')
    const since = recent.since(sharedLsn)
    if (!since) return 'unknown'
    await applyKeys(since.keys, true, { cursor: { ...since.cursor, epoch, mark: undefined } })
    recent.forget()
    parts.onPromoted?.(countOf(since.keys))
    return 'went-back'
  }

  return {
    lookedUp: recent.noteLookUp,
    async run() {
      let isNew = !writer.reopen()
      if (isNew) await takeSnapshot(writer.state().unfit ?? 'there is no cursor')
      for (;;) {
        const asOfMs = now()
        const { cursor, asOfMs: storedMs } = writer.state()
        if (!cursor) throw new Error('the copy became unusable while it was followed')
        const step = await readFeed('the feed', source.readChanges(cursor, CHANGES_PER_READ))
        if ('kind' in step) {
          if (step.kind === 'promoted' && (await goBack(step.epoch, step.sharedLsn)) === 'went-back') continue
          if (isNew) throw new Error('the feed does not know the cursor that it gave') // the caller waits before it tries again
          isNew = true
          await takeSnapshot(
            step.kind === 'promoted' ? 'a promoted standby may lack what we hold' : 'the feed does not reach back to our cursor',
          )
          continue
        }
        await pin()
        const atTheEnd = step.changes.length < CHANGES_PER_READ
        const isIdle = step.changes.length === 0 && Math.abs(asOfMs - storedMs) < IDLE_WRITE_INTERVAL_MS
        const keys = sortKeys(step.changes)
        if (step.lsn !== undefined) recent.note({ cursor: step.cursor, lsn: step.lsn, keys })
        if (!isIdle) await applyKeys(keys, false, { cursor: step.cursor, ...(atTheEnd && { asOfMs }) })
        if (atTheEnd) return { asOfMs: asOfMs - (step.heldMs ?? 0) }
      }
    },
  }
}

function countOf(keys: ChangedKeys): number {
  return Object.values(keys).reduce((sum, list) => sum + list.length, 0)
}

const NO_KEYS: ChangedKeys = { routes: [], certificates: [], projects: [], tokens: [], settings: [], challenges: [] }

function* pages<Key>(keys: Key[], size: number): Generator<Key[]> {
  for (let from = 0; from < keys.length; from += size) yield keys.slice(from, from + size)
}

function missing(hostnames: Hostname[], rows: { hostname: Hostname }[]): Hostname[] {
  const found = new Set(rows.map((row) => row.hostname))
  return hostnames.filter((hostname) => !found.has(hostname))
}

/** Each key once, however often it changed: only its current row counts. */
function sortKeys(changes: Change[]): ChangedKeys {
  const of = (kind: Change['kind']) => [...new Set(changes.filter((change) => change.kind === kind).map((change) => change.key))]
  const hostnames = (keys: string[]) =>
    keys.map(readClaimName).flatMap((reading) => (reading.kind === 'hostname' ? [reading.hostname] : []))
  return {
    routes: hostnames(of('host')),
    certificates: hostnames(of('certificate')),
    projects: of('project'),
    tokens: of('token'),
    settings: of('setting'),
    challenges: hostnames(of('challenge')),
  }
}
