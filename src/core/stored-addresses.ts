import { sql } from 'kysely'
import { type Db, rows, type Tx, transaction } from './db.ts'
import { asStored } from './email-address.ts'
import { ROLES } from './member-roles.ts'

const DOMAIN_IN_LETTERS = sql`split_part(email, '@', 2) ~ '[^[:ascii:]]'`
const MADE_A_PROJECT = sql`action = 'project.created'` // of what was done, this alone is counted by person

/**
 * Rewrites the addresses that earlier versions stored with their domain in letters, as `parseEmailAddress` has them now; SQL knows no punycode. Of somebody
 * who belongs to a project by both spellings, the higher role stays. For each start: a former version may write some beside this one.
 */
export async function foldStoredAddresses(db: Db): Promise<void> {
  const found = await rows(
    db,
    sql<{ email: string }>`
      select email from (
        select email from members union select email from sessions union select email from sign_in_links
        union select actor->>'email' from activity where ${MADE_A_PROJECT}) stored
      where ${DOMAIN_IN_LETTERS} order by email`,
  )
  for (const { email } of found) if (asStored(email) !== email) await transaction(db, (tx) => fold(tx, email, asStored(email)))
}

async function fold(tx: Tx, from: string, to: string): Promise<void> {
  await rows(tx, sql`select from projects where id in (select project_id from members where email = ${from}) order by id for no key update`)
  const higher = sql`array_position(${[...ROLES]}::text[], excluded.role) < array_position(${[...ROLES]}::text[], known.role)`
  await rows(
    tx,
    sql`
      with former as (delete from members where email = ${from} returning project_id, role, created_at, joined_at)
      insert into members as known (project_id, email, role, created_at, joined_at)
      select project_id, ${to}, role, created_at, joined_at from former
      on conflict (project_id, email) do update set
        role = case when ${higher} then excluded.role else known.role end,
        created_at = least(known.created_at, excluded.created_at), joined_at = least(known.joined_at, excluded.joined_at)`,
  )
  await rows(tx, sql`update sessions set email = ${to} where email = ${from}`)
  await rows(tx, sql`update sign_in_links set email = ${to} where email = ${from}`)
  await rows(
    tx,
    sql`update activity set actor = jsonb_set(actor, '{email}', to_jsonb(${to}::text)) where ${MADE_A_PROJECT} and actor->>'email' = ${from}`,
  )
}
