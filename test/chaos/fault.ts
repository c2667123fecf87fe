import type { Chance } from './chance.ts'
import type { Claims } from './claims.ts'
import type { Fleet } from './fleet.ts'
import type { EdgeName } from './machines.ts'
import type { Rule } from './rules.ts'

/** What a fault does its work with. */
export type Scene = {
  fleet: Fleet
  claims: Claims
  chance: Chance
  /**
   * The edge itself is hit from now on: requests that are under way there, or begin, may fail. Until `over` is called: what begins later must not.
   */
  hit(edge: EdgeName): { over(): void }
  /** A figure that belongs into the table beside the fault's name. */
  note(text: string): void
  /** Has something done for the next fault's sake, when this one's convergence has been measured. */
  afterwards(tidy: () => Promise<void>): void
  /** Lets the load run on for so long. */
  hold(ms: number): Promise<void>
}

export type Fault = {
  /** As the table shows it, and as `--only` finds it. */
  name: string
  /** Part of the short version, which CI runs. */
  short?: true
  /** Cannot be done over loopback relays. */
  namespacesOnly?: true
  rule: Rule
  /** Does it, holds it, ends it: when this resolves, the fleet has all that it needs to be whole again, at once or after a start. */
  inflict(scene: Scene): Promise<void>
}
