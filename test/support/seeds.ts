/** The seeds to try: these or, with `SEEDS=1-3000` in the environment, each from the first to the last of that range. */
export function seedsToTry(usual: readonly number[]): readonly number[] {
  const range = process.env.SEEDS
  if (range === undefined) return usual
  const [first, last] = /^(\d+)-(\d+)$/.exec(range)?.slice(1).map(Number) ?? []
  if (first === undefined || last === undefined || last < first) throw new Error(`SEEDS=${range}: a range is wanted, such as SEEDS=1-3000`)
  return upTo(last).slice(first - 1)
}

/** From 1 on. */
export function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, i) => i + 1)
}
