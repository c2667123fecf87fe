/** Of the names the one most like this, so that a message can suggest it. */
export function nearestName(name: string, known: readonly string[]): string {
  return known.reduce((best, candidate) => (likeness(name, candidate) > likeness(name, best) ? candidate : best))
}

/** From 0 to 1: how many pairs of neighbouring letters two names share (Dice). */
function likeness(a: string, b: string): number {
  const pairsOf = (text: string) => new Set(Array.from({ length: text.length - 1 }, (_, i) => text.slice(i, i + 2)))
  const [left, right] = [pairsOf(a), pairsOf(b)]
  return (2 * [...left].filter((pair) => right.has(pair)).length) / (left.size + right.size)
}
