import { loadTlsAlpnChallenges } from '../core/challenges.ts'
import { currentCursor, listenForChanges, readChanges } from '../core/changes.ts'
import type { Db } from '../core/db.ts'
import { eachProjectPage, loadProjects } from '../core/project-pages.ts'
import { eachCertificatePage, eachRoutePage, loadCertificates, loadRouteRows, loadRoutes, type RouteReading } from '../core/routes.ts'
import { readEdgeSetting } from '../core/settings.ts'
import type { CopySource } from '../replica/copy-source.ts'

type Sources = { feed?: Db; lookups?: Db; reading?: RouteReading }

/** What the follower reads of the database: all from `feed`, which may be a standby, but hints and, through `lookups`, what must be the newest. */
export function databaseSource(db: Db, { feed = db, lookups = db, reading }: Sources = {}): CopySource {
  let connections = 0
  if (feed !== db) feed.pool.on('connect', () => (connections += 1)) // each may lead to another of the standbys
  return {
    server: () => connections,
    currentCursor: () => currentCursor(feed),
    readChanges: (cursor, limit) => readChanges(feed, cursor, limit, db),
    loadRoutes: (hostnames) => loadRouteRows(feed, hostnames, reading),
    loadCertificates: (hostnames) => loadCertificates(feed, hostnames),
    eachRoutePage: (pageSize) => eachRoutePage(feed, pageSize, reading),
    eachCertificatePage: (pageSize) => eachCertificatePage(feed, pageSize),
    loadProjects: (ids) => loadProjects(feed, ids),
    eachProjectPage: (pageSize) => eachProjectPage(feed, pageSize),
    loadChallenges: () => loadTlsAlpnChallenges(feed),
    readSetting: (name) => readEdgeSetting(feed, name),
    findRoutes: (hostnames) => loadRoutes(lookups, hostnames, reading),
    findCertificates: (hostnames) => loadCertificates(lookups, hostnames),
    listen: (onHint) => listenForChanges(db, onHint),
  }
}
