import { sql } from 'kysely'
import { type Db, rows } from './db.ts'

/** A mail as it would have gone out. */
export type WrittenMail = { to: string; subject: string; text: string; html: string }

const KEPT_MAX = 100

/** Keeps the mail where there is no server to send it. The last 100 stay. */
export async function keepMail(db: Db, { to, subject, text, html }: WrittenMail): Promise<void> {
  await rows(db, sql`insert into kept_mails (recipient, subject, body_text, body_html) values (${to}, ${subject}, ${text}, ${html})`)
  await rows(db, sql`delete from kept_mails where id <= (select id from kept_mails order by id desc offset ${KEPT_MAX} limit 1)`)
}

/** The mails that were kept, newest first. */
export async function listKeptMails(db: Db): Promise<(WrittenMail & { id: string; at: string })[]> {
  const found = await rows(
    db,
    sql<WrittenMail & { id: string; at: Date }>`
      select id, recipient as to, subject, body_text as text, body_html as html, created_at as at from kept_mails order by id desc limit ${KEPT_MAX}`,
  )
  return found.map((mail) => ({ ...mail, at: mail.at.toISOString() }))
}
