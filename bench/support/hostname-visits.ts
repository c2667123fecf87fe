import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Hostname } from '../../src/hostname.ts'
import { LOAD_CORE, onCore } from './cores.ts'
import { pause, processorUsOf } from './measure.ts'

type Visits = { done: number; bad: number; example?: string; p50Ms: number; p99Ms: number; maxMs: number }

export type VisitOrder = {
  port: number
  /** Of so many: the certified ones among them are visited. */
  hostnames: number
  caFile: string
  ms: number
  /** One sets out each so often; without it eight visit again and again. */
  everyMs?: number
  /** Whose processor time counts. */
  measured: number[]
}

const CLIENT = fileURLToPath(new URL('random-visits.ts', import.meta.url))
const AT_ONCE = 8
const RETRY_MS = 10
const ANSWER_TIMEOUT_MS = 5_000
const BAD_SHARE_MAX = 0.001

/** Visits by chance from another process; `us` is the processor time that the measured ones spent on one. Rejects when visits fail. */
export async function visitRandomly(order: VisitOrder): Promise<Visits & { us: number }> {
  const before = processorUsOf(order.measured)
  const options = [order.port, order.hostnames, order.ms, AT_ONCE, order.everyMs ?? 0, order.caFile].map(String)
  const { stdout } = await promisify(execFile)(
    ...onCore(LOAD_CORE, [process.execPath, '--disable-warning=ExperimentalWarning', CLIENT, ...options]),
  )
  const visits = JSON.parse(stdout) as Visits
  if (visits.bad > (visits.done + visits.bad) * BAD_SHARE_MAX)
    throw new Error(`${visits.bad} of ${visits.done + visits.bad} visits failed: ${visits.example}`)
  return { ...visits, us: (processorUsOf(order.measured) - before) / visits.done }
}

/** Asks again and again until the hostname answers 200 with a certificate of the authority's; false when it does not within that time. */
export async function firstAnswer(of: {
  port: number
  hostname: Hostname
  caFile: string
  withinMs: number
  hasEnded?: () => boolean
}): Promise<boolean> {
  const ca = readFileSync(of.caFile)
  const end = performance.now() + of.withinMs
  while (performance.now() < end && !of.hasEnded?.()) {
    if (await answers(of.port, of.hostname, ca)) return true
    await pause(RETRY_MS)
  }
  return false
}

function answers(port: number, hostname: Hostname, ca: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const to = { host: '127.0.0.1', port, servername: hostname, headers: { host: hostname }, ca, agent: false, timeout: ANSWER_TIMEOUT_MS }
    const sent = request(to, (answer) => {
      answer.resume().on('error', () => resolve(false))
      answer.on('end', () => resolve(answer.statusCode === 200))
    })
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')))
    sent.on('error', () => resolve(false))
    sent.end()
  })
}

/** Memory that the processes hold together, in MB. */
export function residentMb(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024, 0)
}
