import { type RawBuilder, sql } from 'kysely'
import { type Db, rows } from './db.ts'

/** Where sealed values stand. Each is bound to its name: the hostname of a certificate or open order, the name of a setting. */
export const SEALED_PLACES = ['certificates', 'open orders', 'settings'] as const
export type SealedPlace = (typeof SEALED_PLACES)[number]

/** How many values of a place were sealed with the key of that id (hex). */
export type SealedCount = { place: SealedPlace; keyId: string; values: number }

export type SealedValue = { name: string; sealed: Buffer }

const ROWS_PER_COUNT = 50_000 // a statement has 30 seconds

// The key's id is the four bytes behind the first, see lib/seal.ts.
const CERTIFICATES = source('certificates', 'hostname', 'sealed_key')
const ORDERS = source('orders_under_way', 'hostname', 'sealed_key')

/** Counts by key; `settings` are the names of those that are sealed. Looks at every certificate, page by page. */
export async function countSealed(db: Db, settings: readonly string[]): Promise<SealedCount[]> {
  const counts = new Map<string, SealedCount>()
  for (const place of SEALED_PLACES) {
    let after = ''
    for (;;) {
      const found = await rows(
        db,
        sql<{ keyId: string; values: number; last: string }>`
          with page as (
            select name, sealed from (${sourceOf(place, settings)}) s where name > ${after} order by name limit ${ROWS_PER_COUNT}
          )
          select encode(substring(sealed from 2 for 4), 'hex') as "keyId", count(*)::int as values, max(name) as last from page group by 1`,
      )
      for (const { keyId, values } of found) {
        const known = counts.get(`${place} ${keyId}`)?.values ?? 0
        counts.set(`${place} ${keyId}`, { place, keyId, values: known + values })
      }
      after =
        found
          .map(({ last }) => last)
          .sort()
          .at(-1) ?? after
      if (found.reduce((sum, { values }) => sum + values, 0) < ROWS_PER_COUNT) break
    }
  }
  return [...counts.values()]
}

/** Up to `limit` values that were sealed with one of these keys, by name, after the given one. */
export async function findSealed(
  db: Db,
  place: SealedPlace,
  which: { settings: readonly string[]; keyIds: readonly string[]; after: string; limit: number },
): Promise<SealedValue[]> {
  return rows(
    db,
    sql<SealedValue>`
      select name, sealed from (${sourceOf(place, which.settings)}) s
      where name > ${which.after} and encode(substring(sealed from 2 for 4), 'hex') = any(${which.keyIds}::text[]) order by name limit ${which.limit}`,
  )
}

/** Puts the new seals in place of the former, where nobody has written a value of its own meanwhile, tells the edges, and says how many. */
export async function replaceSealed(
  db: Db,
  place: SealedPlace,
  values: readonly { name: string; former: Buffer; sealed: Buffer }[],
): Promise<number> {
  const given = sql`unnest(${values.map(({ name }) => name)}::text[], ${values.map(({ former }) => former)}::bytea[],
    ${values.map(({ sealed }) => sealed)}::bytea[]) as given(name, former, sealed)`
  const replaced = await rows(db, REPLACE[place](given))
  return replaced.length
}

// A certificate's version stays: it is the same certificate, and edges need not build it anew. A setting's age stays too: keys of tickets are
// renewed by it.
const REPLACE: Record<SealedPlace, (given: RawBuilder<unknown>) => RawBuilder<unknown>> = {
  certificates: (given) => sql`
    with mine as (
      select c.hostname, given.sealed from certificates c join ${given} on c.hostname = given.name and c.sealed_key = given.former
      order by c.hostname for update of c
    ), replaced as (
      update certificates c set sealed_key = mine.sealed from mine where c.hostname = mine.hostname returning c.hostname
    )
    insert into changes (kind, key) select 'certificate', hostname from replaced returning key`,
  'open orders': (given) => sql`
    update orders_under_way o set sealed_key = given.sealed from ${given} where o.hostname = given.name and o.sealed_key = given.former
    returning o.hostname`,
  settings: (given) => sql`
    with replaced as (
      update settings s set value = given.sealed from ${given} where s.name = given.name and s.value = given.former returning s.name
    )
    insert into changes (kind, key) select 'setting', name from replaced returning key`,
}

function sourceOf(place: SealedPlace, settings: readonly string[]): RawBuilder<unknown> {
  if (place === 'certificates') return CERTIFICATES
  if (place === 'open orders') return ORDERS
  return sql`select name collate "C" as name, value as sealed from settings where name = any(${settings}::text[])`
}

function source(table: string, name: string, sealed: string): RawBuilder<unknown> {
  return sql`select ${sql.ref(name)} as name, ${sql.ref(sealed)} as sealed from ${sql.table(table)} where ${sql.ref(sealed)} is not null`
}
