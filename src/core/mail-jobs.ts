import { sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Queryable, rows } from './db.ts'
import { asStored } from './email-address.ts'
import type { Role } from './member-roles.ts'

/**
 * A mail to be written and sent. A link is named by its row, so no job holds what would open it. An invitation of an older version has no
 * `projectId`.
 */
export type Mail =
  | { kind: 'sign-in'; to: string; linkId: string }
  | { kind: 'invitation'; to: string; projectId?: string; projectName: string; role: Role; invitedBy: string | null }
  | { kind: 'dns-instructions'; to: string; projectId: string; hostname: Hostname; note: string | null; linkId: string }

const ATTEMPTS_MAX = 12 // with the queue's back-off, over 16 hours

/** Puts the mail into the workers' queue, with the transaction's commit. */
export async function addMailJob(on: Queryable, mail: Mail): Promise<void> {
  await rows(on, sql`select id from graphile_worker.add_job('mail', ${JSON.stringify(mail)}::json, max_attempts => ${ATTEMPTS_MAX})`)
}

/** Whether the sign-in link is still worth a mail. */
export async function linkIsOpen(on: Queryable, linkId: string): Promise<boolean> {
  const found = await rows(on, sql`select from sign_in_links where id = ${linkId}::uuid and used_at is null and expires_at > now()`)
  return found.length > 0
}

/** The role that the invitation is for by now; undefined where the membership or its project has gone. A former version's job may have the domain in letters. */
export async function invitedRole(on: Queryable, projectId: string, email: string): Promise<Role | undefined> {
  const [member] = await rows(
    on,
    sql<{ role: Role }>`select role from members where project_id = ${projectId} and email = ${asStored(email)}`,
  )
  return member?.role
}
