import type { DatabaseSync } from 'node:sqlite'
import type { Hostname } from '../hostname.ts'
import type { NameUse } from './rows.ts'

/** The use of a name that never leaves: the service's own hosts. */
export const ALWAYS_USED_MS = Number.MAX_SAFE_INTEGER

/** The names that a bounded copy knows: the least recently used leave. Every call but `holds` and `byUse` belongs into a transaction. */
export type CopyNames = {
  holds(hostname: Hostname): boolean
  /** The most recently used first. */
  byUse(): NameUse[]
  keep(use: NameUse): void
  /** Names that are not known stay so. */
  use(use: NameUse): void
  /** What counts as used later counts as used then. */
  capUses(atMs: number): void
  /** False: it was not known, or never leaves. */
  drop(hostname: Hostname): boolean
  /** Forgets the least recently used beyond `max` and returns them. */
  evict(max: number): Hostname[]
}

export function prepareNames(db: DatabaseSync): CopyNames {
  const find = db.prepare('select 1 from names where hostname = ?')
  const all = db.prepare('select hostname, used_at_ms as usedAtMs from names order by used_at_ms desc')
  const count = db.prepare('select coalesce((select names from totals), (select count(*) from names)) as count')
  const put = db.prepare(
    'insert into names values (?, ?) on conflict (hostname) do update set used_at_ms = max(used_at_ms, excluded.used_at_ms)',
  )
  const touch = db.prepare('update names set used_at_ms = max(used_at_ms, ?) where hostname = ?')
  const cap = db.prepare(`update names set used_at_ms = :atMs where used_at_ms > :atMs and used_at_ms < ${ALWAYS_USED_MS}`)
  const remove = db.prepare(`delete from names where hostname = ? and used_at_ms < ${ALWAYS_USED_MS}`)
  const oldest = db.prepare(`select hostname from names where used_at_ms < ${ALWAYS_USED_MS} order by used_at_ms limit ?`)

  return {
    holds: (hostname) => find.get(hostname) !== undefined,
    byUse: () => all.all() as NameUse[],
    keep: ({ hostname, usedAtMs }) => void put.run(hostname, usedAtMs),
    use: ({ hostname, usedAtMs }) => void touch.run(usedAtMs, hostname),
    capUses: (atMs) => void cap.run({ atMs }),
    drop: (hostname) => remove.run(hostname).changes > 0,
    evict(max) {
      const surplus = (count.get() as { count: number }).count - max
      if (surplus <= 0) return []
      const left = (oldest.all(surplus) as { hostname: Hostname }[]).map(({ hostname }) => hostname)
      for (const hostname of left) remove.run(hostname)
      return left
    },
  }
}
