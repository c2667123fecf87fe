import { type FromChild, NODE, type Output, type Runtime } from './child.ts'
import type { Config } from './config.ts'
import { createGatherer } from './gather.ts'
import { pause } from './lib/back-off.ts'
import type { WantedSocket } from './listening-sockets.ts'
import type { Log } from './log.ts'
import type { ProgramAccess } from './program-folder.ts'
import { type RoleProcess, startRoleProcess } from './role-process.ts'

export const ROLES = ['api', 'worker', 'edge', 'dns'] as const
export type Role = (typeof ROLES)[number]

/** What runs where nothing is chosen: all roles that have something to do. */
export function defaultRoles({ dnsZone }: Pick<Config, 'dnsZone'>): Role[] {
  return ROLES.filter((role) => role !== 'dns' || dnsZone !== undefined)
}

type Chosen = { config: Config; roles: readonly Role[]; demo: boolean }

export type RoleTreeParts = Chosen & {
  program: ProgramAccess
  /** Runs the edge processes, and only these. */
  edgeRuntime: Runtime
  env: Readonly<Record<string, string | undefined>>
  fds: Readonly<Record<string, number>>
  output: Output
  log: Log
  /** A local copy from before: edge processes serve from it without waiting for the follower's first. */
  hasCopy: boolean
}

export type RoleTree = {
  /** The name server, the follower, then the edge processes: what can serve without the database, from the local copy. Does nothing the second time. */
  startEdges(): Promise<void>
  /** The roles that need the database. */
  startRest(): void
  /** Resolves when every process has served at least once. */
  allReady(): Promise<void>
  /** Replaces the edge processes one by one, each only when its successor serves. */
  roll(): Promise<void>
  /** Drains everything, and ends at once what is left when the signal is aborted or the time is up. */
  stop(atOnce: AbortSignal): Promise<void>
}

const FOLLOWER_WAIT_MS = 10_000
const EDGE_DRAIN_MS = 32_000 // the 30 seconds that running requests are given, and a margin
const DRAIN_MS = 40_000

/** The sockets that the chosen roles listen on. */
export function wantedSockets({ config, roles, demo }: Chosen): WantedSocket[] {
  const all = [
    { name: 'api', variable: 'NAMESAKE_API_ADDR', address: config.apiAddr, wanted: roles.includes('api') },
    { name: 'internal', variable: 'NAMESAKE_INTERNAL_ADDR', address: config.internalAddr, wanted: true },
    { name: 'http', variable: 'NAMESAKE_HTTP_ADDR', address: config.httpAddr, wanted: roles.includes('edge') },
    { name: 'https', variable: 'NAMESAKE_HTTPS_ADDR', address: config.httpsAddr, wanted: roles.includes('edge') },
    { name: 'dns', variable: 'NAMESAKE_DNS_ADDR', address: config.dnsAddr, wanted: roles.includes('dns') },
    { name: 'dns-udp', variable: 'NAMESAKE_DNS_ADDR', address: config.dnsAddr, wanted: roles.includes('dns'), boundByRole: true },
    { name: 'demo', variable: 'the demo application', address: { host: '127.0.0.1', port: 0 }, wanted: demo },
  ]
  return all.filter(({ wanted }) => wanted)
}

/** The processes of the chosen roles. Nothing runs before it is started. */
export function createRoleTree(parts: RoleTreeParts): RoleTree {
  const { roles, config, log } = parts
  const processes: RoleProcess[] = []
  const gatherer = createGatherer(() => processes)
  const internalAt = roles.includes('api') ? 'api' : roles.includes('worker') ? 'worker' : roles.includes('edge') ? 'follower' : 'dns'
  let stopped = false

  const start = (role: string, sockets: string[], label = role): RoleProcess => {
    const names = role === internalAt ? [...sockets, 'internal'] : sockets
    const shared = Object.fromEntries(names.flatMap((name) => (name in parts.fds ? [[name, parts.fds[name]!]] : [])))
    const started = startRoleProcess({
      ...parts,
      role,
      label,
      sockets: shared,
      runtime: role === 'edge' ? parts.edgeRuntime : NODE,
      onMessage: (message: FromChild, from) => {
        if (message.type === 'report') gatherer.received(message.id, message.report)
        if (message.type === 'gather') void gatherer.gather().then((reports) => from.send({ type: 'gathered', id: message.id, reports }))
      },
    })
    processes.push(started)
    return started
  }
  const ofRole = (...wanted: string[]) => processes.filter(({ role }) => wanted.includes(role))

  let edges: Promise<void> | undefined
  const startEdges = async () => {
    if (!stopped && roles.includes('dns')) start('dns', ['dns', 'dns-udp'])
    if (stopped || !(roles.includes('api') || roles.includes('edge'))) return
    const follower = start('follower', [])
    if (!parts.hasCopy) {
      const patience = new AbortController()
      await Promise.race([follower.firstReady, pause(FOLLOWER_WAIT_MS, patience.signal)])
      patience.abort()
    }
    if (stopped || !roles.includes('edge')) return
    for (let n = 1; n <= config.edgeWorkers; n += 1) start('edge', ['http', 'https'], `edge ${n}`)
  }

  return {
    startEdges: () => (edges ??= startEdges()),
    startRest() {
      if (stopped) return
      if (roles.includes('api')) start('api', ['api'])
      if (roles.includes('worker')) start('worker', [])
      if (parts.demo) start('demo', ['demo'])
    },
    allReady: async () => void (await Promise.all(processes.map(({ firstReady }) => firstReady))),
    async roll() {
      for (const edge of ofRole('edge')) {
        if (stopped) return
        const outcome = await edge.replace()
        if (outcome === 'replaced') log.info(`${edge.label} was replaced by a new process`)
        else return log.error(`the successor of ${edge.label} did not come up: the present edge processes stay`)
      }
    },
    async stop(atOnce) {
      stopped = true
      const stopAll = (signal: AbortSignal, ...wanted: string[]) => Promise.all(ofRole(...wanted).map((one) => one.stop(signal)))
      const edgesDrained = AbortSignal.any([atOnce, AbortSignal.timeout(EDGE_DRAIN_MS)])
      const allDrained = AbortSignal.any([atOnce, AbortSignal.timeout(DRAIN_MS)])
      // In the order of a request: nobody is ended while somebody in front may still ask it.
      await stopAll(edgesDrained, 'edge', 'worker')
      await stopAll(allDrained, 'api', 'dns')
      await stopAll(allDrained, 'follower', 'demo')
    },
  }
}
