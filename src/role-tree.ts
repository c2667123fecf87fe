import { type FromChild, NODE, type Output, type Runtime } from './child.ts'
import type { Config, Env } from './config.ts'
import { LOOKUP_THREADS } from './edge/node-flags.ts'
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
  env: Env
  /** The settings of `.env` as they were read last. */
  dotEnv: Env
  fds: Readonly<Record<string, number>>
  output: Output
  log: Log
  /** Aborted as soon as the supervisor is told to stop. */
  giveUp: AbortSignal
  /** A local copy from before: edge processes serve from it without waiting for the follower's first. */
  hasCopy: boolean
  /** Another tree answers on the internal address, until `takeCharge`. */
  awaitsCharge: boolean
}

/**
 * What came of replacing every process. `label` is the first whose successor did not come up, `reason` why, where that is known; or why none was
 * tried.
 */
export type RollOutcome =
  | { kind: 'rolled'; processes: number }
  | { kind: 'kept'; label: string; reason?: string }
  | { kind: 'refused'; reason: string }

export type RoleTree = {
  /** The name server, the follower, then the edge processes: what can serve without the database, from the local copy. Does nothing the second time. */
  startEdges(): Promise<void>
  /** The roles that need the database. */
  startRest(): void
  /** Resolves when every process has served at least once, or waits for what another tree must let go of. */
  allReadyOrWaiting(): Promise<void>
  /** Resolves when every process has served at least once. */
  allReady(): Promise<void>
  /** Replaces every process by one with this `.env`, one after the other, each only when its successor serves; ends at the first that does not come up. */
  roll(dotEnv: Env): Promise<RollOutcome>
  /** From now on this tree answers on the internal address. */
  takeCharge(): void
  /** Ends the follower, so that the one of another tree can write the local copy. The edge goes on serving from it. */
  yieldCopy(): Promise<void>
  /** Starts the follower that was ended. */
  resumeCopy(): void
  /** Drains everything at once, while another tree serves. */
  retire(): Promise<void>
  /** Drains everything, and ends at once what is left when the signal is aborted or the time is up. */
  stop(atOnce: AbortSignal): Promise<void>
}

/** It looks up upstreams that strangers name. */
const API_RUNTIME: Runtime = { ...NODE, env: LOOKUP_THREADS }
const FOLLOWER_WAIT_MS = 10_000
const FOLLOWER_STOP_MS = 5_000
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
  const gatherer = createGatherer(() => processes, roles)
  const hasFollower = roles.includes('api') || roles.includes('edge')
  // One that starts without the database, and one that stays while the follower hands the local copy over.
  const internalAt = [hasFollower ? 'follower' : 'dns', roles.includes('api') ? 'api' : 'worker']
  let stopped = false
  let yielded = false
  let awaitsCharge = parts.awaitsCharge
  let { dotEnv } = parts

  const start = (role: string, sockets: string[], label = role): RoleProcess => {
    const names = internalAt.includes(role) ? [...sockets, 'internal'] : sockets
    const shared = Object.fromEntries(names.flatMap((name) => (name in parts.fds ? [[name, parts.fds[name]!]] : [])))
    const started = startRoleProcess({
      ...parts,
      env: { ...parts.env, NAMESAKE_AWAITS_CHARGE: parts.awaitsCharge ? 'yes' : undefined },
      dotEnv,
      role,
      label,
      sockets: shared,
      runtime: role === 'edge' ? parts.edgeRuntime : role === 'api' ? API_RUNTIME : NODE,
      onStart(child) {
        if (!awaitsCharge) child.send({ type: 'in-charge' })
      },
      onMessage: (message: FromChild, from) => {
        if (message.type === 'report') gatherer.received(message.id, message.report)
        if (message.type === 'gather')
          void gatherer.gather(message.role).then((reports) => from.send({ type: 'gathered', id: message.id, reports }))
      },
    })
    processes.push(started)
    return started
  }
  const ofRole = (...wanted: string[]) => wanted.flatMap((name) => processes.filter(({ role }) => role === name))

  let edges: Promise<void> | undefined
  const startEdges = async () => {
    if (!stopped && roles.includes('dns')) start('dns', ['dns', 'dns-udp'])
    if (stopped || !hasFollower) return
    const follower = start('follower', [])
    if (!parts.hasCopy) {
      const patience = new AbortController()
      await Promise.race([follower.firstReady, follower.waits, pause(FOLLOWER_WAIT_MS, patience.signal)])
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
    allReadyOrWaiting: async () => void (await Promise.all(processes.map(({ firstReady, waits }) => Promise.race([firstReady, waits])))),
    allReady: async () => void (await Promise.all(processes.map(({ firstReady }) => firstReady))),
    async roll(next) {
      // Visitors last: the edge is touched only when all that stands behind it came up again.
      const all = ofRole('worker', 'api', 'dns', 'demo', 'follower', 'edge')
      for (const one of all) {
        if (stopped) return { kind: 'kept', label: one.label }
        const outcome = await one.replace(next)
        if (outcome.kind === 'kept') return { ...outcome, label: one.label }
        log.info(`${one.label} was replaced by a new process`)
      }
      dotEnv = next
      return { kind: 'rolled', processes: all.length }
    },
    takeCharge() {
      if (!awaitsCharge) return
      awaitsCharge = false
      for (const place of processes) place.current()?.send({ type: 'in-charge' })
    },
    async yieldCopy() {
      for (const follower of ofRole('follower')) {
        processes.splice(processes.indexOf(follower), 1)
        yielded = true
        await follower.stop(AbortSignal.timeout(FOLLOWER_STOP_MS))
      }
    },
    resumeCopy() {
      if (yielded && !stopped) start('follower', [])
      yielded = false
    },
    async retire() {
      stopped = true
      const drained = AbortSignal.timeout(DRAIN_MS)
      await Promise.all(processes.map((one) => one.stop(drained)))
    },
    async stop(atOnce) {
      stopped = true
      const stopAll = (signal: AbortSignal, ...wanted: string[]) => Promise.all(ofRole(...wanted).map((one) => one.stop(signal)))
      const edgesDrained = AbortSignal.any([atOnce, AbortSignal.timeout(EDGE_DRAIN_MS)])
      const allDrained = AbortSignal.any([atOnce, AbortSignal.timeout(DRAIN_MS)])
      // In the order of a request: nobody is ended while somebody in front may still ask it.
      await stopAll(edgesDrained, 'edge', 'worker')
      await stopAll(allDrained, 'api', 'dns')
      await stopAll(AbortSignal.any([atOnce, AbortSignal.timeout(FOLLOWER_STOP_MS)]), 'follower', 'demo') // however long the others took
    },
  }
}
