import { Gauge } from 'prom-client'
import { pruneActivity } from '../core/activity.ts'
import { claimDueRenewals, forgetReleasedCertificates, type RenewalRound } from '../core/certificates.ts'
import { pruneChallenges } from '../core/challenges.ts'
import { compactChanges, createAnnouncer, pruneChanges } from '../core/changes.ts'
import { pruneConnectLinks } from '../core/connect-links.ts'
import { createDatabaseHosts } from '../core/database-hosts.ts'
import { closeDatabase, connectDatabase, type Db } from '../core/db.ts'
import { DNS_STATES } from '../core/dns-report.ts'
import { forgetReleasedClaims } from '../core/domains.ts'
import { beatFeed } from '../core/feed-beats.ts'
import { isOvertaken } from '../core/issuance-attempts.ts'
import { pruneBudget } from '../core/issuance-budget.ts'
import { createLinkSigner } from '../core/link-signer.ts'
import { pruneOrdersUnderWay } from '../core/orders-under-way.ts'
import { forgetFormerOwnCertificates, requestOwnCertificates } from '../core/own-certificates.ts'
import { findClaimBesideOthers } from '../core/probes.ts'
import { pruneProjectCalls } from '../core/project-rate.ts'
import { pruneRateLimits } from '../core/rate-limits.ts'
import { findRoute } from '../core/routes.ts'
import { pruneSessions } from '../core/sessions.ts'
import { freeForgottenJobs, pruneFailedJobs } from '../core/workers.ts'
import type { Hostname } from '../hostname.ts'
import { checkLive } from '../jobs/check-live.ts'
import { type IssueParts, issueCertificate, ORDER_OUTCOMES } from '../jobs/issue.ts'
import { startJobRunner } from '../jobs/job-runner.ts'
import { deliverMail } from '../jobs/mail.ts'
import { createMailServer } from '../jobs/mail-server.ts'
import { startProbeSweep } from '../jobs/probe-sweep.ts'
import { askAboutRenewals } from '../jobs/renewal-info.ts'
import { startSweeps } from '../jobs/sweep.ts'
import { countBy } from '../lib/count-by.ts'
import type { Log } from '../log.ts'
import { createAuthorityHealth } from './authority-health.ts'
import { certificateKeys } from './certificate-keys.ts'
import { createDelegatedChallenges } from './delegated-challenges.ts'
import { createEdgeCounts } from './edge-counts.ts'
import { serveInternal } from './internal.ts'
import { createIssuanceLedger } from './issuance-ledger.ts'
import { createIssuanceMetrics } from './issuance-metrics.ts'
import { createIssuing, type Issuing } from './issuing.ts'
import { createKeptOrders } from './kept-orders.ts'
import { createLiveVisits } from './live-visits.ts'
import { ownHosts } from './own-hosts.ts'
import { ensureOwnKeys } from './own-keys.ts'
import type { RoleContext, RunningRole } from './role.ts'
import { createServiceProbe, withCnameTargets } from './service-probe.ts'
import { renewTicketKeys } from './ticket-keys.ts'
import { createTlsAlpnOnEdges } from './tls-alpn.ts'

/** Each kind has its own: what a customer's servers can hold up is neither mail nor another kind's. */
const ISSUES_AT_ONCE_MAX = 20
const VISITS_AT_ONCE_MAX = 20
const MAILS_AT_ONCE_MAX = 5
const JOB_CONNECTIONS_MAX = 25
const RENEWALS_A_SWEEP_MAX = 100
const FEED_KEPT_HOURS = 48
const EDGE_START_GRACE_MS = 60_000
const OWN_HOST_IS_CLAIMED =
  'a project holds a host of the service itself, whose certificate is that of the claim and goes with it: remove the domain, then it gets one of its own'

/** The background work: DNS checks, certificate orders, renewals, pruning. Any number of machines run it side by side. */
export async function startWorker(context: RoleContext): Promise<RunningRole> {
  const { config, log, metrics } = context
  const hosts = createDatabaseHosts(config.databaseUrl!, { log })
  const db = connectDatabase(config.databaseUrl!, { applicationName: 'namesake worker', poolMax: 10, log, hosts })
  const jobDb = connectDatabase(config.databaseUrl!, { applicationName: 'namesake jobs', poolMax: JOB_CONNECTIONS_MAX, log, hosts })
  const announcer = createAnnouncer(db)
  const probe = withCnameTargets(createServiceProbe(config), db)
  const health = createAuthorityHealth({ log })
  const kept = createKeptOrders(db, certificateKeys(config), log)
  const dns01 = createDelegatedChallenges(config, db)
  const tlsAlpn = createTlsAlpnOnEdges({ db, announce: announcer.announce, probe, port: config.publicHttpsPort })
  const ledger = createIssuanceLedger(db, log)
  const issuing = createIssuing(config, await ensureOwnKeys(db, config), probe, ledger, {
    ...{ health, kept, tlsAlpn, dns01 },
    isOvertaken: (hostname, permission) => isOvertaken(db, hostname, permission).catch(() => false),
    findClaimBesideOthers: (hostname) => findClaimBesideOthers(db, hostname),
  })
  const countOrder = countBy(metrics, {
    name: 'namesake_orders_total',
    help: 'Certificate attempts by outcome',
    label: 'outcome',
    values: ORDER_OUTCOMES,
  })
  const countProbe = countBy(metrics, { name: 'namesake_probes_total', help: 'DNS checks by outcome', label: 'state', values: DNS_STATES })
  new Gauge({
    name: 'namesake_authority_up',
    help: 'Whether a certificate authority answers (1) or is passed over (0), as this process finds',
    labelNames: ['directory'],
    registers: [metrics],
    aggregator: 'min',
    collect() {
      for (const directory of config.acmeDirectories) this.set({ directory }, health.isUp(directory) ? 1 : 0)
    },
  })
  const edgeCounts = createEdgeCounts(db, metrics)
  const issuanceMetrics = createIssuanceMetrics(db, config.acmeDirectories, metrics)
  const issue: IssueParts = {
    ...issuing,
    db,
    log,
    announce: announcer.announce,
    now: () => new Date(),
    count: countOrder,
  }

  const mailServer = config.smtpUrl === undefined ? undefined : createMailServer(config.smtpUrl, config.mailFrom!)
  const mail = {
    db,
    log,
    portalUrl: config.portalUrl,
    edgeHost: config.edgeHost,
    edgeIps: config.edgeIps,
    dnsZone: config.dnsZone,
    signer: createLinkSigner(config.secrets, 'sign-in'),
    connectSigner: createLinkSigner(config.secrets, 'connect'),
    send: mailServer?.send,
  }

  const live = { db, visit: createLiveVisits({ ...probe, log, port: config.publicHttpsPort, proxyProtocol: config.proxyProtocol }) }
  const runners = await Promise.all([
    startJobRunner({
      ...{ db, jobDb, log, task: 'issue', atOnce: ISSUES_AT_ONCE_MAX },
      work: (payload, _job, workerId) => issueCertificate(issue, payload, workerId),
    }),
    startJobRunner({
      ...{ db, jobDb, log, task: 'live', atOnce: VISITS_AT_ONCE_MAX },
      work: (payload) => checkLive(live, payload),
    }),
    startJobRunner({
      ...{ db, jobDb, log, task: 'mail', atOnce: MAILS_AT_ONCE_MAX },
      work: (payload, job) => deliverMail(mail, payload, { id: job.id, createdAt: job.created_at, lockedBy: job.locked_by }),
    }),
  ])
  const probing = startProbeSweep({
    db,
    log,
    intervalS: config.probeIntervalS,
    workerId: runners[0].id,
    check: (due) => probe.check(due.hostname, due),
    onRecorded: (changed) => changed.forEach(announcer.announce),
    count: countProbe,
  })
  const renewals: RenewalRound = {}
  const own = [...ownHosts(config).keys()]
  const sweeps = startSweeps(
    [
      { name: 'own certificates', everyMs: 5_000, run: createOwnCertificates({ db, log, issuing, own }) },
      { name: 'renewals', everyMs: 10_000, run: async () => void (await claimDueRenewals(db, RENEWALS_A_SWEEP_MAX, renewals)) },
      { name: 'renewal information', everyMs: 10_000, run: () => askAboutRenewals({ db, log, renewalTime: issuing.renewalTime }) },
      { name: 'certificate states', everyMs: 30_000, shareMax: 0.02, run: () => issuanceMetrics.refresh() }, // it reads all certificates
      { name: 'ticket keys', everyMs: 600_000, run: () => renewTicketKeys(db, config) },
      { name: 'feed beat', everyMs: 1_000, run: () => beatFeed(db) },
      { name: 'feed compaction', everyMs: 300_000, run: async () => void (await compactChanges(db)) },
      { name: 'forgotten jobs', everyMs: 300_000, run: () => freeForgottenJobs(db) },
      { name: 'activity pruning', everyMs: 3_600_000, shareMax: 0.02, run: () => pruneActivity(db) }, // it counts all that is kept
      { name: 'failed job pruning', everyMs: 3_600_000, run: () => pruneFailedJobs(db) },
      { name: 'feed pruning', everyMs: 3_600_000, run: () => pruneChanges(db, FEED_KEPT_HOURS) },
      { name: 'budget pruning', everyMs: 3_600_000, run: async () => void (await pruneBudget(db)) },
      { name: 'open orders pruning', everyMs: 3_600_000, run: () => pruneOrdersUnderWay(db) },
      { name: 'challenge pruning', everyMs: 600_000, run: () => pruneChallenges(db) },
      { name: 'connect link pruning', everyMs: 3_600_000, run: () => pruneConnectLinks(db) },
      { name: 'session pruning', everyMs: 3_600_000, run: () => pruneSessions(db) },
      { name: 'rate limit pruning', everyMs: 600_000, run: () => pruneRateLimits(db) },
      { name: 'edges', everyMs: 10_000, run: () => edgeCounts.refresh() },
      { name: 'project call pruning', everyMs: 60_000, run: () => pruneProjectCalls(db) },
      { name: 'released certificates', everyMs: 86_400_000, run: async () => void (await forgetReleasedCertificates(db)) },
      { name: 'former own certificates', everyMs: 86_400_000, run: async () => void (await forgetFormerOwnCertificates(db, own)) },
      { name: 'released claims', everyMs: 86_400_000, run: () => forgetReleasedClaims(db) },
    ],
    log,
  )
  const internal = await serveInternal(context, { findInCopy: (hostname) => findRoute(db, hostname) })
  return {
    report: () => ({ ready: true, details: {} }),
    async stop() {
      await internal.stop()
      await Promise.all([probing.stop(), sweeps.stop(), ...runners.map((runner) => runner.stop())])
      await Promise.all(runners.map((runner) => runner.leave()))
      mailServer?.close()
      probe.close()
      dns01?.close()
      await announcer.close()
      await closeDatabase(jobDb)
      await closeDatabase(db)
    },
  }
}

type OwnCertificates = { db: Db; log: Log; issuing: Issuing; own: readonly Hostname[] }

/** Asks for the service's own certificates: at first only once an edge answers challenges, since an order before that fails for nothing. */
function createOwnCertificates({ db, log, issuing, own }: OwnCertificates): () => Promise<void> {
  const graceEndsAt = performance.now() + EDGE_START_GRACE_MS
  const told = new Set<Hostname>()
  return async () => {
    for (const hostname of own) {
      if (performance.now() <= graceEndsAt && !(await issuing.reachesUs(hostname))) continue
      const [claimed] = await requestOwnCertificates(db, [hostname])
      if (claimed && !told.has(hostname)) log.warn(claimed, OWN_HOST_IS_CLAIMED)
      if (claimed) told.add(hostname)
    }
  }
}
