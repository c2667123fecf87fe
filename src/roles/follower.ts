import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { createRouteFinder } from '../api/route-finder.ts'
import { requestIssuance } from '../core/certificates.ts'
import { probeSoon } from '../core/probes.ts'
import { pause } from '../lib/back-off.ts'
import { steadyNowMs } from '../lib/steady-clock.ts'
import { CopyClosedError, CopyInUseError } from '../replica/copy-lock.ts'
import type { CopyScope } from '../replica/copy-schema.ts'
import { type CopyWriter, openCopyWriter } from '../replica/copy-writer.ts'
import { createFollower } from '../replica/follower.ts'
import { startCopyServer } from '../replica/server.ts'
import { copyFacts, measureCopy } from './copy-metrics.ts'
import { copyPath, followerSocket } from './copy-place.ts'
import { databaseSource } from './database-source.ts'
import { startEdgeHeartbeat } from './edge-heartbeat.ts'
import { connectFollower } from './follower-databases.ts'
import { certificateFinder, serveInternal } from './internal.ts'
import { ownHosts } from './own-hosts.ts'
import { THUMBPRINT } from './own-keys.ts'
import type { RoleContext, RunningRole } from './role.ts'
import { TICKET_KEYS } from './ticket-keys.ts'

const COPY_RETRY_MS = 20
const CLOSED_RETRY_MS = 1_000
const COPY_WAIT_MS = 360_000 // longer than a new release may take to come up

/** One a machine: follows the change feed into the local copy, and is the only part of the edge that talks to PostgreSQL. */
export async function startFollowerRole(context: RoleContext): Promise<RunningRole> {
  const { config, log } = context
  const databases = connectFollower(config, log)
  const { db, visits, feed } = databases
  const reading = { metadata: context.roles.includes('api') } // resolve answers with it; visitors need none
  mkdirSync(dirname(copyPath(config)), { recursive: true, mode: 0o700 })
  const writer = await takeOverCopy(context, { ...reading, hostnamesMax: config.copyHostnamesMax })
  const follower = createFollower({
    source: databaseSource(db, { feed, lookups: visits, reading }),
    writer,
    settingNames: [THUMBPRINT, TICKET_KEYS],
    pinned: [...ownHosts(config).keys()],
    log,
    now: steadyNowMs,
  })
  const server = await startCopyServer({
    socketPath: followerSocket(context),
    on: {
      findRoute: follower.findRoute,
      requestCertificate: (hostname) => requestIssuance(visits, hostname),
      visitorCame: (hostname) => probeSoon(visits, hostname),
      hostnamesUsed: follower.hostnamesUsed,
      copyDamaged: follower.copyDamaged,
    },
    log,
  })
  follower.start(server)
  const facts = () => copyFacts(writer, copyPath(config), Date.now())
  const heartbeat = startEdgeHeartbeat({ db, config, log, applied: server.applied, count: facts, now: steadyNowMs })
  measureCopy(context.metrics, { follower, writer, path: copyPath(config) })
  const isComplete = () => follower.status().complete
  // What was claimed a moment ago may not be in the copy: a miss is looked up.
  const finder = createRouteFinder({ db: visits, isFresh: isComplete, resolve: follower.findRoute, now: () => new Date(steadyNowMs()) })
  const internal = await serveInternal(context, certificateFinder(finder.findInCopy, isComplete))
  return {
    report: () => ({
      ready: writer.state().cursor !== undefined,
      details: { ...follower.report(), ...facts(), edge: heartbeat.report() },
    }),
    async stop() {
      await internal.stop()
      await heartbeat.stop()
      await follower.stop()
      await server.stop()
      writer.close()
      await databases.close()
    },
  }
}

/**
 * The copy has one writer: a successor waits, everything else in place, until the present one lets go. One that is closed to this user is
 * waited for too, however long, since only a person can open it.
 */
async function takeOverCopy(context: RoleContext, scope: CopyScope): Promise<CopyWriter> {
  const deadline = performance.now() + COPY_WAIT_MS
  let said: string | undefined
  for (;;) {
    try {
      return openCopyWriter(copyPath(context.config), scope)
    } catch (error) {
      const closed = error instanceof CopyClosedError
      if (!closed && (!(error instanceof CopyInUseError) || performance.now() > deadline)) throw error
      const { message } = error
      if (said !== message && closed) context.log.error(`the local copy waits, and what changes is not seen: ${message}`)
      if (said !== message && !closed) context.sayWaiting()
      said = message
      await pause(closed ? CLOSED_RETRY_MS : COPY_RETRY_MS)
    }
  }
}
