/** Random choices that come out the same for the same seed. */
export type Chance = {
  /** From 0 up to, and without, 1. */
  share(): number
  below(limit: number): number
  of<T>(values: readonly T[]): T
}

/** Mulberry32: small, and more than even enough for who is hit next. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0
  const share = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(share() * limit)
  return { share, below, of: (values) => values[below(values.length)]! }
}

/** A seed of its own for a part of the run, so that it happens the same whether the parts before it ran or not. */
export function seedOf(seed: number, part: string): number {
  return [...part].reduce((hash, letter) => Math.imul(hash ^ letter.codePointAt(0)!, 16_777_619) >>> 0, (seed ^ 2_166_136_261) >>> 0)
}
