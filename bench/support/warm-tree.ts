import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts } from '../../test/support/ports.ts'
import { pause } from './measure.ts'

/** `namesake start --roles edge` on a database and a data directory that outlive it. */
export type WarmTree = {
  httpPort: number
  httpsPort: number
  /** The follower's and the edge's process; there is one of each. */
  pids(): Promise<{ follower: number; edge: number }>
  /** Resolves once the local copy holds everything. */
  complete(): Promise<void>
  /** For each role, how many seconds had their longest pause at up to so many milliseconds. */
  pauses(): Promise<Pauses>
  stop(): Promise<void>
}

/** Seconds by role and by the upper bound of their longest pause, cumulated. */
export type Pauses = Map<string, Map<number, number>>

type Ready = { processes: { role: string; pid: number; complete?: boolean }[] }

const LAUNCHER = fileURLToPath(new URL('../../bin/namesake', import.meta.url))
const COMPLETE_TIMEOUT_MS = 300_000
const POLL_MS = 20

/** Returns at once, before anything serves. The edge alone: claims come through core, and nothing else is to be waited for. */
export async function startWarmTree(home: string, env: Record<string, string>): Promise<WarmTree> {
  const [internal, http, https] = (await freePorts(3)) as [number, number, number]
  const log = openSync(join(home, 'namesake.log'), 'a')
  const child = spawn(LAUNCHER, ['start', '--roles', 'edge'], {
    env: {
      ...process.env,
      ...env,
      NAMESAKE_DATA_DIR: join(home, 'data'),
      NAMESAKE_INTERNAL_ADDR: `127.0.0.1:${internal}`,
      NAMESAKE_HTTP_ADDR: `127.0.0.1:${http}`,
      NAMESAKE_HTTPS_ADDR: `127.0.0.1:${https}`,
      NAMESAKE_EDGE_WORKERS: '1',
      NAMESAKE_ALLOW_PRIVATE_UPSTREAMS: 'true',
      NAMESAKE_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', log, log],
  })
  const get = (path: string) => fetch(`http://127.0.0.1:${internal}${path}`)
  const pids = async () => {
    const { processes } = (await (await get('/ready')).json()) as Ready
    const pidOf = (wanted: string) => processes.find(({ role }) => role === wanted)!.pid
    return { follower: pidOf('follower'), edge: pidOf('edge') }
  }
  return {
    httpPort: http,
    httpsPort: https,
    pids,
    async complete() {
      const late = AbortSignal.timeout(COMPLETE_TIMEOUT_MS)
      for (;;) {
        const ready = await get('/ready').catch(() => undefined)
        if (ready?.status === 200) return
        if (late.aborted || child.exitCode !== null)
          throw new Error(`namesake did not come up\n${readFileSync(join(home, 'namesake.log'), 'utf8').slice(-2_000)}`)
        await pause(POLL_MS)
      }
    },
    pauses: async () => readPauses(await (await get('/metrics')).text()),
    stop: () => stopped(child),
  }
}

function readPauses(metrics: string): Pauses {
  const pauses: Pauses = new Map()
  for (const [, labels, count] of metrics.matchAll(/^namesake_event_loop_pause_seconds_bucket\{(.*)\} (\d+)$/gm)) {
    const role = /role="([a-z]+)"/.exec(labels!)![1]!
    const bound = /le="([^"]+)"/.exec(labels!)![1]!
    const ofRole = pauses.get(role) ?? new Map<number, number>()
    pauses.set(role, ofRole.set(bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound) * 1_000, Number(count)))
  }
  return pauses
}

/** The bound in ms under which the longest pause of the role was between two readings, and how many seconds had one over 50 ms. */
export function pausesBetween(before: Pauses, after: Pauses, role: string): { longestMs: number; secondsOver50: number } {
  const counts = [...(after.get(role) ?? [])].map(([bound, count]) => [bound, count - (before.get(role)?.get(bound) ?? 0)] as const)
  const all = counts.at(-1)?.[1] ?? 0
  const longestMs = counts.find(([, count]) => count === all)?.[0] ?? Number.NaN
  return { longestMs, secondsOver50: all - (counts.find(([bound]) => bound === 50)?.[1] ?? 0) }
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}
