import { sql } from 'kysely'
import { recordChange } from './changes.ts'
import { type Db, rows, transaction } from './db.ts'

const CLOCK_SLACK_S = 60 // who waits for the row may have begun before the one whose value it is

/** A small value that all machines share, or undefined when nobody has written it. Secret values are sealed by the caller. */
export async function readSetting(db: Db, name: string): Promise<Buffer | undefined> {
  const [row] = await rows(db, sql<{ value: Buffer }>`select value from settings where name = ${name}`)
  return row?.value
}

/** As readSetting, for the few that edge machines need, with no more rights than theirs. */
export async function readEdgeSetting(db: Db, name: string): Promise<Buffer | undefined> {
  const [row] = await rows(db, sql<{ value: Buffer | null }>`select edge_setting(${name}) as value`)
  return row?.value ?? undefined
}

/** Writes the value unless there is one already, and returns the one that is stored: of several writers the first wins. */
export async function writeSettingOnce(db: Db, name: string, value: Buffer): Promise<Buffer> {
  return transaction(db, async (tx) => {
    const inserted = await rows(
      tx,
      sql`insert into settings (name, value) values (${name}, ${value}) on conflict do nothing returning name`,
    )
    if (inserted.length > 0) await recordChange(tx, { kind: 'setting', key: name })
    const [row] = await rows(tx, sql<{ value: Buffer }>`select value from settings where name = ${name}`)
    return row!.value
  })
}

/**
 * Writes the value where there is none, or one that is older than so many seconds, and says whether it did: of several writers one does. Nobody knows
 * the age of one from the future, as there is behind a clock that was set back: it counts as too old.
 */
export async function renewSetting(db: Db, name: string, value: Buffer, olderThanS: number): Promise<boolean> {
  const written = await rows(
    db,
    sql`
      with written as (
        insert into settings (name, value) values (${name}, ${value})
        on conflict (name) do update set value = excluded.value, updated_at = now()
          where settings.updated_at not between now() - make_interval(secs => ${olderThanS}) and now() + make_interval(secs => ${CLOCK_SLACK_S})
        returning name
      )
      insert into changes (kind, key) select 'setting', name from written returning key`,
  )
  return written.length > 0
}

/** Writes the value over whatever was there. */
export async function writeSetting(db: Db, name: string, value: Buffer): Promise<void> {
  await transaction(db, async (tx) => {
    await rows(
      tx,
      sql`insert into settings (name, value) values (${name}, ${value})
      on conflict (name) do update set value = excluded.value, updated_at = now()`,
    )
    await recordChange(tx, { kind: 'setting', key: name })
  })
}
