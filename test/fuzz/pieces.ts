import type { Random } from './random.ts'

/** The bytes in a few pieces, in that share of the cases; else in one. */
export function cut(bytes: Buffer, random: Random, share: number): Buffer[] {
  if (!random.chance(share)) return [bytes]
  const cuts = Array.from({ length: 1 + random.below(4) }, () => random.below(bytes.length)).sort((a, b) => a - b)
  const at = [0, ...cuts, bytes.length]
  return at.slice(1).flatMap((end, i) => (end > at[i]! ? [bytes.subarray(at[i], end)] : []))
}
