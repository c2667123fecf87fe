import type { Db } from '../core/db.ts'
import type { DnsReport, DnsState } from '../core/dns-report.ts'
import { nextProbeInS } from '../core/probe-interval.ts'
import { claimDueProbes, type DueProbe, type ProbeLine, type ProbeResult, recordProbes } from '../core/probes.ts'
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
  count(state: DnsState): void
}

/** Of each line, for itself: a silent zone holds its place for eight seconds, and must not hold up those that answer. */
const PROBES_AT_ONCE_MAX = { answered: 2_000, unanswered: 1_000 }
const LINES: readonly ProbeLine[] = ['answered', 'unanswered']
const CLAIM_LEASE_S = 60 // should nobody notice that the worker died
const IDLE_POLL_MS = 250
const RECORD_EVERY_MS = 100
const RETRY = { firstMs: 250, maxMs: 1_000 } // as a follower's: both are on the way of a claim to the edges

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
  const underWay = { answered: new Set<Promise<void>>(), unanswered: new Set<Promise<void>>() }
  const countUnderWay = () => LINES.reduce((sum, line) => sum + underWay[line].size, 0)
  let finished: ProbeResult[] = []
  const begin = (line: ProbeLine, probe: DueProbe) => {
    const ended = checkOne(parts, probe).then((result) => {
      if (result) finished.push(result)
      underWay[line].delete(ended)
    })
    underWay[line].add(ended)
  }
  const record = async () => {
    const results = finished
    finished = []
    if (results.length > 0) await recordAll(parts, results)
  }
  let failures = 0
  while (!stopped.aborted) {
    try {
      for (const line of LINES) for (const probe of await claim(parts, line, underWay[line].size)) begin(line, probe)
      failures = 0
    } catch (error) {
      failures += 1
      if (failures === 1)
        parts.log.warn({ reason: (error as Error).message }, 'cannot ask which domains are due for a DNS check; trying again')
    }
    await record()
    await pause(countUnderWay() + finished.length > 0 ? RECORD_EVERY_MS : failures > 0 ? backOffMs(failures, RETRY) : IDLE_POLL_MS, stopped)
  }
  await Promise.all(LINES.flatMap((line) => [...underWay[line]]))
  await record()
}

async function claim({ db, workerId }: ProbeSweepParts, line: ProbeLine, underWay: number): Promise<DueProbe[]> {
  const limit = PROBES_AT_ONCE_MAX[line] - underWay
  // Small bites would cost a statement each: wait until a fifth of the places are free.
  if (limit < PROBES_AT_ONCE_MAX[line] / 5) return []
  return claimDueProbes(db, { line, limit, leaseS: CLAIM_LEASE_S, workerId })
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
