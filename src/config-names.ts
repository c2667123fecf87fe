/** What the launcher reads, what the supervisor tells its children beyond the settings, and what the shell of a vendor's developer may hold. */
export const NO_SETTINGS = [
  'NAMESAKE_LISTEN',
  'NAMESAKE_DOT_ENV',
  'NAMESAKE_ROLES',
  'NAMESAKE_RUN_DIR',
  'NAMESAKE_LAUNCHER',
  'NAMESAKE_NODE',
  'NAMESAKE_SUCCESSION',
  'NAMESAKE_DEMO_UPSTREAM',
  'NAMESAKE_SERVICE_USER',
  'NAMESAKE_AWAITS_CHARGE',
  'NAMESAKE_API',
  'NAMESAKE_TOKEN',
]

/** The launcher reads no `.env`: it is what chooses the Node that could. */
export function unreadByLauncher(dotEnv: Readonly<Record<string, string | undefined>>, env: typeof dotEnv): string[] {
  if (!dotEnv.NAMESAKE_NODE || env.NAMESAKE_NODE) return []
  return [
    `NAMESAKE_NODE in .env has no effect: set it in the environment. Example: NAMESAKE_NODE=${dotEnv.NAMESAKE_NODE} bin/namesake start`,
  ]
}

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
