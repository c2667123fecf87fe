import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import { type Db, type Queryable, rows, type Tx, transaction } from './db.ts'
import { parseEmailAddress } from './email-address.ts'
import type { LinkSigner } from './link-signer.ts'
import { addMailJob } from './mail-jobs.ts'
import {
  listMemberships,
  makeSessionKey,
  type NewSession,
  SESSION_DAYS,
  type Session,
  type SessionRow,
  sessionHash,
  toSession,
} from './sessions.ts'

const LINK_MINUTES = 15

/**
 * Has a sign-in link sent to the address. Where only who was invited may sign in, nothing is sent to others, and the caller cannot tell, by the
 * time either: theirs is a link too, which has expired when its mail is to be written. Throws `email_invalid`.
 */
export async function requestSignIn(db: Db, text: string, signup: 'open' | 'invited'): Promise<void> {
  const email = parseEmailAddress(text)
  await transaction(db, async (tx) => {
    const [link] = await rows(
      tx,
      sql<{ id: string }>`
        insert into sign_in_links (email, expires_at)
        select ${email}, now() + make_interval(mins => case when ${signup === 'open'} or is_member then ${LINK_MINUTES} else 0 end)
        from (select exists (select from members m where m.email = ${email}) as is_member) known
        returning id`,
    )
    await addMailJob(tx, { kind: 'sign-in', to: email, linkId: link!.id })
  })
}

/** The address that the link signs in, which is not spent. Throws `magic_link_invalid` as `exchangeLink` would. */
export async function findLinkEmail(db: Db, signer: LinkSigner, token: string): Promise<string> {
  const linkId = signer.idOf(token)
  const [link] = linkId ? await readLink(db, linkId) : []
  if (!link) throw invalidLink()
  return link.email
}

/**
 * Spends the link and begins a session, which sees the projects that its user belongs to now, and ends the one whose key the browser had.
 * All or nothing: whoever is not told of the new session can use the link again. One statement decides: of parallel callers with one link,
 * one gets the session. Throws `magic_link_invalid` when the link is used, expired or none of ours.
 */
export async function exchangeLink(db: Db, signer: LinkSigner, token: string, formerKey?: string): Promise<NewSession> {
  const linkId = signer.idOf(token)
  if (!linkId) throw invalidLink()
  const { key, hash } = makeSessionKey()
  return transaction(db, async (tx) => {
    await lockMemberships(tx, linkId)
    const session = await beginSession(tx, linkId, { hash, formerHash: sessionHash(formerKey) })
    if (!session) throw invalidLink()
    return { key, session, projects: await listMemberships(tx, session) }
  })
}

function invalidLink(): ServiceError {
  return new ServiceError('magic_link_invalid', 'this sign-in link was used already or has expired: ask for a new one')
}

function readLink(on: Queryable, linkId: string) {
  return rows(
    on,
    sql<{ email: string }>`select email from sign_in_links where id = ${linkId}::uuid and used_at is null and expires_at > now()`,
  )
}

/**
 * The memberships of the link's user, and their projects before: in this order whoever deletes one locks them. Who ends a membership beside this waits, and
 * then finds what the new session sees; else it would see the project again as soon as its user is invited again.
 */
async function lockMemberships(tx: Tx, linkId: string): Promise<void> {
  const email = sql`(select email from sign_in_links where id = ${linkId}::uuid)`
  await rows(tx, sql`select from projects where id in (select project_id from members where email = ${email}) order by id for key share`)
  await rows(tx, sql`select from members where email = ${email} order by project_id for key share`)
}

async function beginSession(
  on: Queryable,
  linkId: string,
  { hash, formerHash }: { hash: Buffer; formerHash: Buffer | null },
): Promise<Session | undefined> {
  const [begun] = await rows(
    on,
    sql<SessionRow>`
      with link as (
        update sign_in_links set used_at = now() where id = ${linkId}::uuid and used_at is null and expires_at > now() returning email
      ), session as (
        insert into sessions (hash, email, expires_at)
        select ${hash}, email, now() + make_interval(days => ${SESSION_DAYS}) from link returning id, email, signed_in_at
      ), former as (
        delete from sessions using link where hash = ${formerHash}
      ), visible as (
        insert into session_projects (session_id, project_id)
        select session.id, m.project_id from session join members m using (email)
      ), joined as (
        update members m set joined_at = now() from link where m.email = link.email and m.joined_at is null
        returning m.project_id, m.email
      ), noted as (
        insert into activity (project_id, actor, action, subject)
        select project_id, jsonb_build_object('kind', 'user', 'email', email), 'member.joined', email from joined
      )
      select id, email, signed_in_at as "signedInAt" from session`,
  )
  return begun && toSession(begun)
}
