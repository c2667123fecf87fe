import { currentSnapshot, findActivitySince } from '../core/activity.ts'
import { type Change, type Cursor, currentCursor, readChanges } from '../core/changes.ts'
import type { Db } from '../core/db.ts'
import { type DomainNews, findDomainNews } from '../core/domain-status.ts'
import type { Hostname } from '../hostname.ts'
import { pause } from '../lib/back-off.ts'
import type { Log } from '../log.ts'

/** `missed`: the feed was broken off, as by a promotion, and what was told may be untrue or not all; what comes after this is told again. */
export type News = { kind: 'domain'; domain: DomainNews } | { kind: 'activity' } | { kind: 'missed' }

export type ProjectNews = {
  /** Calls `tell` for every change of the project that is made after this has resolved, within a second or so, until the returned function is called. */
  watch(projectId: string, tell: (news: News) => void): Promise<() => void>
  close(): Promise<void>
}

/** Where the reading of the feed and of the activity has come to. */
type Place = { cursor: Cursor; snapshot: string }

const POLL_MS = 700
const CHANGES_AT_ONCE_MAX = 1_000

/** Reads the change feed and the activity of those projects that somebody watches; while nobody does, it asks nothing. */
export function createProjectNews(parts: { db: Db; log: Log }): ProjectNews {
  const watchers = new Map<string, Set<(news: News) => void>>()
  const stopping = new AbortController()
  let polling: Promise<void> | undefined
  let standing: Promise<void> | undefined

  const tell = (projectId: string, news: News) => {
    for (const watcher of watchers.get(projectId) ?? []) watcher(news)
  }
  const tellOf = async (changes: readonly Change[]) => {
    const hostnames = [
      ...new Set(changes.filter(({ kind }) => kind === 'host' || kind === 'certificate').map(({ key }) => key as Hostname)),
    ]
    if (hostnames.length === 0) return
    for (const domain of await findDomainNews(parts.db, [...watchers.keys()], hostnames)) tell(domain.projectId, { kind: 'domain', domain })
  }
  const here = async (): Promise<Place> => ({ cursor: await currentCursor(parts.db), snapshot: await currentSnapshot(parts.db) })
  const begin = async () => {
    polling = poll(await here())
  }
  const poll = async (place: Place) => {
    while (watchers.size > 0 && !stopping.signal.aborted) {
      try {
        const read = await readChanges(parts.db, place.cursor, CHANGES_AT_ONCE_MAX)
        if ('kind' in read) {
          Object.assign(place, await here()) // first: whoever is told then asks for everything anew
          for (const projectId of [...watchers.keys()]) tell(projectId, { kind: 'missed' })
        } else {
          await tellOf(read.changes)
          place.cursor = read.cursor
          if (read.changes.length === CHANGES_AT_ONCE_MAX) continue
        }
        const { projectIds, snapshot } = await findActivitySince(parts.db, [...watchers.keys()], place.snapshot)
        place.snapshot = snapshot
        for (const projectId of projectIds) tell(projectId, { kind: 'activity' })
      } catch (error) {
        parts.log.warn({ err: error }, 'cannot read the news for whoever watches the portal; trying again')
      }
      await pause(POLL_MS, stopping.signal)
    }
    standing = undefined
  }

  return {
    async watch(projectId, watcher) {
      const group = watchers.get(projectId) ?? new Set()
      watchers.set(projectId, group.add(watcher))
      const stop = () => {
        group.delete(watcher)
        if (group.size === 0 && watchers.get(projectId) === group) watchers.delete(projectId)
      }
      standing ??= begin()
      try {
        await standing
      } catch (error) {
        standing = undefined
        stop()
        throw error
      }
      return stop
    },
    async close() {
      stopping.abort()
      await polling
    },
  }
}
