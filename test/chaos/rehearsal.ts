import { createChance, seedOf } from './chance.ts'
import { startClaims } from './claims.ts'
import type { Relay } from './convergence.ts'
import type { Fault } from './fault.ts'
import { CLAIMANT, startFleet } from './fleet.ts'
import { startLoad } from './load.ts'
import type { Network } from './network.ts'
import { type Outcome, tryFault } from './trial.ts'

export type RehearsalParts = {
  seed: number
  faults: readonly Fault[]
  /** Whether the run has namespaces of its own: see lab.ts. */
  lab: 'own' | 'shared'
  logs?: string
  /** So many times the time that the rules give to converge. */
  patience: number
  /** Ends it after the present fault; rejects with its reason while the fleet is still being started. */
  stop?: AbortSignal
  progress(what: string): void
  onOutcome(outcome: Outcome): void
}

export type Rehearsal = { network: Network['kind']; outcomes: Outcome[]; skipped: Fault[] }

/** Starts the fleet, visits it without end, inflicts the faults one by one, and ends all that it started. */
export async function rehearse({ seed, faults, lab, logs, patience, stop, progress, onOutcome }: RehearsalParts): Promise<Rehearsal> {
  const possible = faults.filter((fault) => lab === 'own' || !fault.namespacesOnly)
  const fleet = await startFleet({
    ...{ lab, logs },
    progress(what) {
      stop?.throwIfAborted()
      progress(what)
    },
  })
  const chanceOf = (part: string) => createChance(seedOf(seed, part))
  // The last one is for the first convergence to remove: nobody else may ask for it.
  const relay: Relay = { leaver: fleet.known.pop()! }
  const load = startLoad({ addressOf: fleet.addressOf, root: fleet.root, known: fleet.known, chance: chanceOf('load') })
  const claims = startClaims(fleet.apisOf(CLAIMANT), chanceOf('claims'))
  const outcomes: Outcome[] = []
  try {
    for (const [i, fault] of possible.entries()) {
      if (stop?.aborted) break
      progress(`${i + 1} of ${possible.length}: ${fault.name}`)
      const outcome = await tryFault(fault, { fleet, load, claims, relay, chance: chanceOf(fault.name), name: `newcomer-${i}`, patience })
      outcomes.push(outcome)
      onOutcome(outcome)
    }
  } finally {
    progress('the end of everything that was started')
    await Promise.all([load.stop(), claims.stop()])
    await fleet.stop()
  }
  return { network: fleet.network.kind, outcomes, skipped: faults.filter((fault) => !possible.includes(fault)) }
}
