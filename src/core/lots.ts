import type { RawBuilder } from 'kysely'
import { type Db, rows } from './db.ts'

/** How many rows one statement deletes at most: each has a time-out of its own. */
export const LOT_ROWS = 10_000

/** Runs a statement that deletes up to `LOT_ROWS` rows, and returns them, until it finds no more. */
export async function deleteInLots(db: Db, statement: RawBuilder<unknown>): Promise<void> {
  let deleted: unknown[]
  do deleted = await rows(db, statement)
  while (deleted.length === LOT_ROWS)
}
