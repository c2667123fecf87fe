import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { Gauge } from 'prom-client'
import { requestIssuance } from '../core/certificates.ts'
import { loadTlsAlpnChallenges } from '../core/challenges.ts'
import { currentCursor, listenForChanges, readChanges } from '../core/changes.ts'
import { closeDatabase, connectDatabase } from '../core/db.ts'
import { probeSoon } from '../core/probes.ts'
import { eachCertificatePage, eachRoutePage, loadCertificates, loadProjectHostnames, loadRoutes } from '../core/routes.ts'
import { readSetting } from '../core/settings.ts'
import { ServiceError } from '../errors.ts'
import type { Hostname } from '../hostname.ts'
import { createCopyCounts } from '../replica/copy-counts.ts'
import { openCopyWriter } from '../replica/copy-writer.ts'
import { createFollower } from '../replica/follower.ts'
import { startCopyServer } from '../replica/server.ts'
import { copyPath, followerSocket } from './copy-place.ts'
import { startEdgeHeartbeat } from './edge-heartbeat.ts'
import { certificateFinder, serveInternal } from './internal.ts'
import { THUMBPRINT } from './own-keys.ts'
import type { RoleContext, RunningRole } from './role.ts'
import { TICKET_KEYS } from './ticket-keys.ts'

/** One a machine: follows the change feed into the local copy, and is the only part of the edge that talks to PostgreSQL. */
export async function startFollowerRole(context: RoleContext): Promise<RunningRole> {
  const { config, log } = context
  const db = connectDatabase(config.databaseUrl!, { applicationName: 'namesake follower', poolMax: 5, log })
  const { feedDatabaseUrl } = config
  const feed = feedDatabaseUrl
    ? connectDatabase(feedDatabaseUrl, { applicationName: 'namesake feed', poolMax: 3, log, need: 'prefer-standby' })
    : db
  mkdirSync(dirname(copyPath(config)), { recursive: true, mode: 0o700 })
  const writer = openCopyWriter(copyPath(config))
  const follower = createFollower({
    source: {
      currentCursor: () => currentCursor(feed),
      readChanges: (cursor, limit) => readChanges(feed, cursor, limit, db),
      loadRoutes: (hostnames) => loadRoutes(feed, hostnames),
      loadCertificates: (hostnames) => loadCertificates(feed, hostnames),
      eachRoutePage: (pageSize) => eachRoutePage(feed, pageSize),
      eachCertificatePage: (pageSize) => eachCertificatePage(feed, pageSize),
      loadChallenges: () => loadTlsAlpnChallenges(feed),
      readSetting: (name) => readSetting(feed, name),
      loadProjectHostnames: (projectId, after, limit) => loadProjectHostnames(feed, projectId, after, limit),
      findRoutes: (hostnames) => loadRoutes(db, hostnames),
      listen: (onHint) => listenForChanges(db, onHint),
    },
    writer,
    settingNames: [THUMBPRINT, TICKET_KEYS],
    log,
    now: Date.now,
  })
  const server = await startCopyServer({
    socketPath: followerSocket(context),
    on: {
      findRoute: follower.findRoute,
      requestCertificate: (hostname) => requestIssuance(db, hostname),
      visitorCame: (hostname) => probeSoon(db, hostname),
      copyDamaged: follower.copyDamaged,
    },
    log,
  })
  follower.start(server)
  const heartbeat = startEdgeHeartbeat({ db, config, log, applied: server.applied, count: createCopyCounts(writer.count), now: Date.now })
  new Gauge({
    name: 'namesake_feed_lag_seconds',
    help: 'Time since the local copy was last known to hold everything',
    aggregator: 'max',
    registers: [context.metrics],
    collect() {
      this.set(follower.status().lagMs / 1_000)
    },
  })
  const findInCopy = async (hostname: Hostname) => {
    const found = await follower.findRoute(hostname)
    if (found.kind === 'unavailable') throw new ServiceError('database_unavailable', 'neither the local copy nor the database can say')
    return found.kind === 'route' ? found.route : undefined
  }
  const internal = await serveInternal(
    context,
    certificateFinder(findInCopy, () => follower.status().complete),
  )
  return {
    report: () => ({ ready: follower.status().complete, details: { ...follower.report(), edge: heartbeat.report() } }),
    async stop() {
      await internal.stop()
      await heartbeat.stop()
      await follower.stop()
      await server.stop()
      writer.close()
      if (feed !== db) await closeDatabase(feed)
      await closeDatabase(db)
    },
  }
}
