import { closeSync, readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import { type Config, ConfigError, type Env, readConfig } from './config.ts'
import { saysDatabaseIsAway } from './errors.ts'
import { measurePauses, measureProcess } from './event-loop-pauses.ts'
import { createLog, leave } from './log.ts'
import type { Listen, ProcessReport, RoleContext, RunningRole } from './roles/role.ts'
import { dropPrivileges, findServiceUser, type ServiceUser } from './service-user.ts'
import { connectToSupervisor } from './supervisor-link.ts'

// The wiring of each process stands in roles/, a screen a role. A process loads its own role only: an edge holds no API code in memory.
// Loading includes the files that a role serves or runs, and what only root may bind: after root is given up, they may be out of reach.
const ROLES: Record<string, (config: Config) => Promise<(context: RoleContext) => Promise<RunningRole | undefined>>> = {
  setup: async () => (await import('./roles/setup.ts')).loadSetup(),
  api: async () => (await import('./roles/api.ts')).loadApi(),
  worker: async () => (await import('./roles/worker.ts')).startWorker,
  follower: async () => (await import('./roles/follower.ts')).startFollowerRole,
  dns: async (config) => (await import('./roles/dns.ts')).loadDns(config, sockets()),
  edge: async () => (await import('./roles/edge.ts')).startEdgeRole,
  demo: async () => (await import('./roles/demo.ts')).startDemoUpstream,
}

/** Longer than anything may drain. A supervisor that is gone ends nobody who hangs, and the next one's processes wait for what we hold. */
const STOP_TIMEOUT_MS = 40_000

/** A process of the tree: loads its role, gives up root, starts, says so, and ends when told to or when its supervisor is gone. */
async function main(role: string): Promise<void> {
  const load = ROLES[role]
  if (!load) throw new Error(`unknown role ${role}: main.ts is started by the supervisor, with one of ${Object.keys(ROLES).join(', ')}`)
  const { config } = readConfig(process.env, process.cwd(), handedDotEnv())
  const start = await load(config)
  const log = createLog(role, config.logLevel)
  const metrics = new Registry()
  measureProcess(metrics)
  measurePauses(metrics, role)
  let running: RunningRole | undefined

  const report = async (): Promise<ProcessReport> => {
    const { ready, details } = running?.report() ?? { ready: false, details: { state: 'starting' } }
    return { role, pid: process.pid, ready, details, metrics: await metrics.getMetricsAsJSON() }
  }
  const end = once(async () => {
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref()
    await running?.stop()
    await leave(0)
  })
  const link = connectToSupervisor({ report, onGone: end })
  process.on('SIGTERM', end)
  // Ctrl-C and the end of a terminal reach all that it started; what comes of them, and in which order we end, the supervisor decides.
  for (const name of ['SIGINT', 'SIGHUP']) process.on(name, () => {})

  dropPrivileges(handedUser())
  const {
    NAMESAKE_RUN_DIR: runDir = '',
    NAMESAKE_DEMO_UPSTREAM: demoUpstream,
    NAMESAKE_ROLES = '',
    NAMESAKE_AWAITS_CHARGE: awaits,
  } = process.env
  const context = { config, log, metrics, listen: sockets(), roles: NAMESAKE_ROLES.split(','), runDir, demoUpstream }
  running = await start({ ...context, gather: link.gather, sayWaiting: link.waiting, inCharge: awaits ? link.inCharge : undefined })
  if (!running) await leave(0)
  link.ready()
}

/** The `.env` as the supervisor has read it; undefined where that is of a release which leaves the reading to us. */
function handedDotEnv(): Env | undefined {
  const fd = Number(process.env.NAMESAKE_DOT_ENV)
  if (!fd) return undefined
  const handed = JSON.parse(readFileSync(fd, 'utf8')) as Env
  closeSync(fd)
  return handed
}

/** The supervisor's choice, whose user the files are: by now there may be another to choose. */
function handedUser(): ServiceUser | undefined {
  const handed = process.env.NAMESAKE_SERVICE_USER
  return handed === undefined ? findServiceUser() : (JSON.parse(handed) as ServiceUser)
}

function sockets(): Record<string, Listen> {
  const descriptors = JSON.parse(process.env.NAMESAKE_LISTEN ?? '{}') as Record<string, number>
  return Object.fromEntries(Object.entries(descriptors).map(([name, fd]) => [name, { fd }]))
}

function once(action: () => Promise<void>): () => void {
  let begun = false
  return () => {
    if (begun) return
    begun = true
    void action()
  }
}

const TEMPORARY_FAILURE = 75 // EX_TEMPFAIL of sysexits(3): the database went away; it is worth another try

try {
  await main(process.argv[2] ?? '')
} catch (error) {
  // What the operator must mend is said by the supervisor, in its own words; everything else is a fault of ours and shows its stack.
  if (error instanceof ConfigError) process.send?.({ type: 'failed', message: error.message })
  else createLog(process.argv[2] ?? 'main').fatal({ err: error }, 'cannot start')
  await leave(saysDatabaseIsAway(error) ? TEMPORARY_FAILURE : 1)
}
