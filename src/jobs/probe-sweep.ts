import type { Db } from '../core/db.ts'
import type { DnsReport } from '../core/dns-report.ts'
import { nextProbeInS } from '../core/probe-interval.ts'
import { claimDueProbes, type DueProbe, type ProbeResult, recordProbes } from '../core/probes.ts'
import type { Hostname } from '../hostname.ts'
import { backOffMs, pause } from '../lib/back-off.ts'
import type { Log } from '../log.ts'

export type ProbeSweepParts = {
  db: Db
  log: Log
  intervalS: number
  /** Whose death makes the claimed probes due again. */
  workerId?: string
  check(probe: DueProbe): Promise<DnsReport>
  onRecorded(hostnames: Hostname[]): void
  count(state: string): void
}

const PROBES_AT_ONCE_MAX = 3_000 // a silent zone holds its place for eight seconds, and must not hold up the others
const CLAIM_LEASE_S = 60 // should nobody notice that the worker died
const IDLE_POLL_MS = 250
const RECORD_EVERY_MS = 100
const RETRY = { firstMs: 250, maxMs: 2_000 }

/**
 * Looks after every domain's DNS: claims what is due, checks it, records what was found, for as long as it runs.
 * Any number of these work side by side. `stop()` resolves when the checks under way are recorded.
 */
export function startProbeSweep(parts: ProbeSweepParts): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const running = sweepUntil(stopping.signal, parts)
  return {
    stop() {
      stopping.abort()
      return running
    },
  }
}

async function sweepUntil(stopped: AbortSignal, parts: ProbeSweepParts): Promise<void> {
  const underWay = new Set<Promise<void>>()
  let finished: ProbeResult[] = []
  const begin = (probe: DueProbe) => {
    const ended = checkOne(parts, probe).then((result) => {
      if (result) finished.push(result)
      underWay.delete(ended)
    })
    underWay.add(ended)
  }
  const record = async () => {
    const results = finished
    finished = []
    if (results.length > 0) await recordAll(parts, results)
  }
  let failures = 0
  while (!stopped.aborted) {
    try {
      for (const probe of await claim(parts, PROBES_AT_ONCE_MAX - underWay.size)) begin(probe)
      failures = 0
    } catch (error) {
      failures += 1
      if (failures === 1)
        parts.log.warn({ reason: (error as Error).message }, 'cannot ask which domains are due for a DNS check; trying again')
    }
    await record()
    await pause(underWay.size + finished.length > 0 ? RECORD_EVERY_MS : failures > 0 ? backOffMs(failures, RETRY) : IDLE_POLL_MS, stopped)
  }
  await Promise.all(underWay)
  await record()
}

async function claim(parts: ProbeSweepParts, room: number): Promise<DueProbe[]> {
  // Small bites would cost a statement each: wait until a fifth of the places are free.
  if (room < PROBES_AT_ONCE_MAX / 5) return []
  return claimDueProbes(parts.db, room, CLAIM_LEASE_S, parts.workerId)
}

async function checkOne(parts: ProbeSweepParts, probe: DueProbe): Promise<ProbeResult | undefined> {
  try {
    const report = await parts.check(probe)
    parts.count(report.state)
    return { probe, report, nextProbeInS: nextProbeInS(probe, report, parts.intervalS) }
  } catch (error) {
    parts.log.error({ err: error, hostname: probe.hostname }, 'DNS check failed; it is repeated when its lease ends')
    return undefined
  }
}

async function recordAll(parts: ProbeSweepParts, results: ProbeResult[]): Promise<void> {
  try {
    parts.onRecorded(await recordProbes(parts.db, results))
  } catch (error) {
    parts.log.warn({ err: error, probes: results.length }, 'cannot record DNS checks; they are repeated when their lease ends')
  }
}
