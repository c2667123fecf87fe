import { pause } from '../../src/lib/back-off.ts'
import type { Chance } from './chance.ts'
import type { Claims } from './claims.ts'
import { awaitConvergence, type Relay } from './convergence.ts'
import type { Fault, Scene } from './fault.ts'
import type { Fleet } from './fleet.ts'
import { type Load, untilWhole } from './load.ts'
import { brokenRules, type Findings, type Hit, unexcused } from './rules.ts'

/** One fault and what came of it. */
export type Outcome = Findings & {
  fault: Fault
  seconds: number
  notes: string[]
  /** Failed requests that no rule excuses. */
  failed: number
  /** Sentences; none when every rule held. */
  broken: string[]
}

export type TrialParts = { fleet: Fleet; load: Load; claims: Claims; relay: Relay; chance: Chance; name: string; patience: number }

const BEFORE_MS = 1_000
const AFTER_MS = 1_500
const NOTHING_CHECKED = { acknowledged: 0, missing: [] }

/** Inflicts the fault under load, waits until the fleet is whole again, and holds what happened against the fault's rule. */
export async function tryFault(fault: Fault, parts: TrialParts): Promise<Outcome> {
  const { fleet, load, claims, relay, chance, name, patience } = parts
  const hits: Hit[] = []
  const notes: string[] = []
  const tidies: (() => Promise<void>)[] = []
  const broken: string[] = []
  const begun = performance.now()
  const tally = load.begin()
  await pause(BEFORE_MS)
  const hit = (edge: Hit['edge']) => {
    const entry: Hit = { edge, from: performance.now(), until: Number.POSITIVE_INFINITY }
    hits.push(entry)
    return {
      over() {
        entry.until = performance.now()
      },
    }
  }
  const scene: Scene = {
    fleet,
    claims,
    chance,
    hit,
    note: (text) => void notes.push(text),
    hold: pause,
    afterwards: (tidy) => void tidies.push(tidy),
  }
  await fault.inflict(scene).catch((error: Error) => void broken.push(`the fault itself: ${sentenceOf(error)}`))
  const convergence = await awaitConvergence(fleet, relay, chance, name)
  await pause(AFTER_MS)
  const checked = await claims.check().catch((error: Error) => ({ ...NOTHING_CHECKED, missing: [error.message] }))
  for (const tidy of tidies) await tidy().catch((error: Error) => void broken.push(`tidying up: ${sentenceOf(error)}`))
  load.begin() // what begins from here on is not the fault's
  await untilWhole(tally)
  const findings: Findings = { tally, hits, claims: checked, convergence }
  const rule = { ...fault.rule, convergedWithinMs: fault.rule.convergedWithinMs * patience }
  broken.push(...brokenRules(rule, findings))
  const seconds = (performance.now() - begun) / 1_000
  return { ...findings, fault, seconds, notes, failed: unexcused(fault.rule, findings).length, broken }
}

function sentenceOf({ message, cause }: Error): string {
  return cause instanceof Error ? `${message} (${cause.message})` : message
}
