import { Logger, run } from 'graphile-worker'
import { Counter } from 'prom-client'
import { IssueError } from '../certs/authority.ts'
import { renewAt } from '../certs/certificate.ts'
import { selfCheck } from '../certs/challenge.ts'
import { thumbprintOf } from '../certs/keys.ts'
import { claimDueRenewals, forgetReleasedCertificates, requestOwnCertificates } from '../core/certificates.ts'
import { createAnnouncer, pruneChanges } from '../core/changes.ts'
import { closeDatabase, connectDatabase } from '../core/db.ts'
import { loadRoutes } from '../core/routes.ts'
import type { Hostname } from '../hostname.ts'
import { type IssueParts, issueCertificate, type Refusal } from '../jobs/issue.ts'
import { startProbeSweep } from '../jobs/probe-sweep.ts'
import { startSweeps } from '../jobs/sweep.ts'
import { createSealer } from '../lib/seal.ts'
import type { Probe } from '../probe/probe.ts'
import { createAuthorities, orderFrom } from './authorities.ts'
import { serveInternal } from './internal.ts'
import { ownHosts } from './own-hosts.ts'
import { ensureOwnKeys } from './own-keys.ts'
import type { RoleContext, RunningRole } from './role.ts'
import { createServiceProbe } from './service-probe.ts'

const JOBS_AT_ONCE_MAX = 20
const JOB_POLL_MS = 1_000
const RENEWALS_A_SWEEP_MAX = 100
const FEED_KEPT_HOURS = 48

/** The background work: DNS checks, certificate orders, renewals, pruning. Any number of machines run it side by side. */
export async function startWorker(context: RoleContext): Promise<RunningRole> {
  const { config, log, metrics } = context
  const db = connectDatabase(config.databaseUrl!, { applicationName: 'namesake worker', poolMax: 10, log })
  const announcer = createAnnouncer(db)
  const probe = createServiceProbe(config)
  const probes = new Counter({ name: 'namesake_probes_total', help: 'DNS checks by outcome', labelNames: ['state'], registers: [metrics] })
  const orders = new Counter({
    name: 'namesake_orders_total',
    help: 'Certificate attempts by outcome',
    labelNames: ['outcome'],
    registers: [metrics],
  })

  const keys = await ensureOwnKeys(db, config)
  const authorities = createAuthorities(config, keys)
  const sealer = createSealer(config.secrets, 'certificate-keys')
  const issuing: IssueParts = {
    db,
    log,
    precheck: (hostname) =>
      precheck(hostname, {
        probe,
        isOwn: ownHosts(config).has(hostname),
        challengePort: challengePort(config),
        thumbprint: thumbprintOf(keys.accountKeyPem),
      }),
    order: (hostname) => order(authorities, hostname),
    sealKey: (keyPem, hostname) => sealer.seal(Buffer.from(keyPem), hostname),
    announce: announcer.announce,
    count: (outcome) => orders.inc({ outcome }),
  }

  const runner = await run({
    connectionString: config.databaseUrl!,
    concurrency: JOBS_AT_ONCE_MAX,
    maxPoolSize: JOBS_AT_ONCE_MAX + 2,
    pollInterval: JOB_POLL_MS,
    noHandleSignals: true,
    logger: new Logger(() => (level, message) => log[level === 'warning' ? 'warn' : level === 'error' ? 'error' : 'debug'](message)),
    parsedCronItems: [],
    taskList: { issue: (payload) => issueCertificate(issuing, payload) },
  })
  const sweep = startProbeSweep({
    db,
    log,
    intervalS: config.probeIntervalS,
    check: ({ hostname, proof, proofNeeded }) => probe.check(hostname, { proof, proofNeeded }),
    onRecorded: (changed) => changed.forEach(announcer.announce),
    count: (state) => probes.inc({ state }),
  })
  const sweeps = startSweeps(
    [
      { name: 'own certificates', everyMs: 60_000, run: () => requestOwnCertificates(db, [...ownHosts(config).keys()]) },
      { name: 'renewals', everyMs: 10_000, run: async () => void (await claimDueRenewals(db, RENEWALS_A_SWEEP_MAX)) },
      { name: 'feed pruning', everyMs: 3_600_000, run: () => pruneChanges(db, FEED_KEPT_HOURS) },
      { name: 'released certificates', everyMs: 86_400_000, run: async () => void (await forgetReleasedCertificates(db)) },
    ],
    log,
  )
  const internal = await serveInternal(context, { findInCopy: async (hostname) => (await loadRoutes(db, [hostname]))[0] })
  return {
    report: () => ({ ready: true, details: {} }),
    async stop() {
      await internal.stop()
      await Promise.all([sweep.stop(), sweeps.stop(), runner.stop()])
      probe.close()
      await announcer.close()
      await closeDatabase(db)
    },
  }
}

type Precheck = { probe: Probe; isOwn: boolean; challengePort: number | undefined; thumbprint: string }

/** Looks for what would make an order fail before the authority is troubled: DNS that leads elsewhere, or somebody else behind port 80. */
async function precheck(
  hostname: Hostname,
  { probe, isOwn, challengePort, thumbprint }: Precheck,
): Promise<{ kind: 'go' } | ({ kind: 'no' } & Refusal)> {
  if (isOwn) return { kind: 'go' } // their DNS is the operator's, and `doctor` looks at it
  const target = await probe.leadsToEdge(hostname)
  if (target.kind !== 'yes')
    return { kind: 'no', problem: { type: 'urn:namesake:error:dns', detail: target.sentence }, sentence: target.sentence }
  if (challengePort === undefined) return { kind: 'go' }
  const answer = await selfCheck({ hostname, addresses: target.addresses, port: challengePort, thumbprint })
  if (answer.kind !== 'answered-by-other') return { kind: 'go' }
  return { kind: 'no', problem: { type: 'urn:namesake:error:challenge', detail: answer.sentence }, sentence: answer.sentence }
}

async function order(authorities: Parameters<typeof orderFrom>[0], hostname: Hostname): ReturnType<IssueParts['order']> {
  try {
    const issued = await orderFrom(authorities, hostname)
    return { kind: 'issued', ...issued, renewAt: renewAt(issued) }
  } catch (error) {
    if (!(error instanceof IssueError)) throw error
    return { kind: 'refused', problem: error.problem, sentence: error.message, retryAfterS: error.retryAfterS }
  }
}

/** The port that authorities send HTTP-01 requests to; none with the built-in CA, which asks nobody. */
function challengePort({ acmeDirectories, publicHttpPort }: RoleContext['config']): number | undefined {
  return acmeDirectories[0] === 'local' ? undefined : publicHttpPort
}
