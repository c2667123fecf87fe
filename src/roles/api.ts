import { createApp } from '../api/app.ts'
import { createAuthenticator } from '../api/authentication.ts'
import { limitCallers } from '../api/caller-limit.ts'
import { leave, listen } from '../api/listen.ts'
import { type PortalFile, readPortalFiles } from '../api/portal-files.ts'
import { createRouteFinder } from '../api/route-finder.ts'
import { createAnnouncer } from '../core/changes.ts'
import { createDatabaseClock } from '../core/database-clock.ts'
import { closeDatabase, connectDatabase } from '../core/db.ts'
import { createLinkSigner } from '../core/link-signer.ts'
import { createProjectRate } from '../core/project-rate.ts'
import { createRateLimits } from '../core/rate-limits.ts'
import { previewErrorPage } from '../edge/error-page.ts'
import { ownFile } from '../own-files.ts'
import { OWN_VERSION } from '../own-version.ts'
import { claimRules } from './claim-rules.ts'
import { createImportedReader } from './imported-certificates.ts'
import { certificateFinder, serveInternal } from './internal.ts'
import { openLocalCopy } from './local-copy.ts'
import { mailing } from './mailing.ts'
import { projectRules, upstreamGuard } from './project-rules.ts'
import type { RoleContext, RunningRole } from './role.ts'
import { createServiceProbe } from './service-probe.ts'
import { createUpstreamCheck } from './upstream-check.ts'

const METADATA_IN_MEMORY_MAX = 2_048 // characters: the longest are 16 KB, and what is remembered are 100,000 routes

/** Reads what the role serves, and returns its start. */
export async function loadApi(): Promise<(context: RoleContext) => Promise<RunningRole>> {
  const portal = readPortalFiles(ownFile('portal/dist/'))
  return (context) => startApi(context, portal)
}

/** The control plane and the portal on the public API address, the certificate check on the internal one. */
async function startApi(context: RoleContext, portal: readonly PortalFile[]): Promise<RunningRole> {
  const { config, log } = context
  const db = connectDatabase(config.databaseUrl!, { applicationName: 'namesake api', poolMax: 20, log })
  const clock = createDatabaseClock(db)
  const { now } = clock
  const announcer = createAnnouncer(db)
  const probe = createServiceProbe(config)
  const copy = openLocalCopy(context, {
    metadata: true,
    keep: (route) => route,
    isLight: ({ metadataJson }) => metadataJson.length <= METADATA_IN_MEMORY_MAX,
    changed(keys) {
      for (const id of keys.tokens) authenticator.forgetToken(id)
      authenticator.doubtProjects(keys.projects)
    },
    reset: () => authenticator.doubtTokens(),
  })
  const authenticator = createAuthenticator({ db, log, isFresh: copy.isCurrent, now })
  const rate = config.projectRate > 0 ? createProjectRate({ db, log, perSecond: config.projectRate, now }) : undefined
  const guard = upstreamGuard(db, config)
  const finder = createRouteFinder({ db, isFresh: copy.isFresh, resolve: copy.findRoute, now })

  const app = createApp({
    db,
    log,
    baseUrl: config.baseUrl,
    version: OWN_VERSION,
    portal,
    rules: claimRules(config),
    probe,
    probeIntervalS: config.probeIntervalS,
    readImported: createImportedReader(config, now),
    trustedProxies: config.trustedProxies,
    authenticate: rate ? limitCallers(authenticator.authenticate, rate) : authenticator.authenticate,
    vouch: authenticator.authenticate,
    revoked(tokenId) {
      authenticator.forgetToken(tokenId)
      announcer.announce(tokenId)
    },
    portalUrl: config.portalUrl,
    signer: createLinkSigner(config.secrets, 'sign-in'),
    connectSigner: createLinkSigner(config.secrets, 'connect'),
    signup: config.signup,
    mail: mailing(config),
    limits: createRateLimits(db),
    projectRules: projectRules(db, config, guard, probe.leadsToEdge),
    previewErrorPage,
    checkUpstream: createUpstreamCheck(guard, config.upstreamSourceIps),
    finder,
    announce: announcer.announce,
    now,
  })
  await listen(app, context.listen.api ?? config.apiAddr)
  const internal = await serveInternal(
    context,
    certificateFinder(finder.findInCopy, () => copy.reader.state().complete),
  )
  return {
    report: () => ({ ready: true, details: { copy: copy.follower.status() } }),
    async stop() {
      await Promise.all([leave(app), internal.stop()])
      await Promise.all([authenticator.close(), rate?.close()])
      copy.close()
      probe.close()
      await Promise.all([announcer.close(), clock.close()])
      await closeDatabase(db)
    },
  }
}
