import { median } from '../support/measure.ts'

/** What our value may be at most, as a multiple of the peer's in the same run, by what our edge runs on. */
export type Held = { peer: string } & Partial<Record<'node' | 'bun', { gate: number; goal: number }>>

/** One round: the value (of which less is better) and what else is worth a column. */
export type Round = { value: number; perSecond?: number; share?: number }

/** What was measured of one shape: each proxy's rounds, in the order in which they took turns. A proxy that failed has none. */
export type Figure = {
  id: string
  title: string
  /** Of the value: `µs a request`. */
  unit: string
  held: readonly Held[]
  rounds: ReadonlyMap<string, readonly Round[]>
  /** Why, by proxy. */
  failures: ReadonlyMap<string, string>
  /** Why a round was taken again, by proxy: what was given up on the way is a matter of the proxy, too. */
  repeats: ReadonlyMap<string, readonly string[]>
}

export type Spread = { median: number; low: number; high: number }

/** Median, least and greatest; all NaN of nothing. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) return { median: Number.NaN, low: Number.NaN, high: Number.NaN }
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) }
}

/** Ours ÷ theirs, round by round: what disturbs the machine for longer than a round disturbs both. */
export function ratio({ rounds }: Figure, ours: string, peer: string): Spread {
  const [mine, theirs] = [rounds.get(ours) ?? [], rounds.get(peer) ?? []]
  const both = Math.min(mine.length, theirs.length)
  return spreadOf(Array.from({ length: both }, (_, round) => mine[round]!.value / theirs[round]!.value))
}
