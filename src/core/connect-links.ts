import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import type { Hostname } from '../hostname.ts'
import { type Actor, OPERATOR, recordActivity } from './activity.ts'
import type { Brand } from './brand.ts'
import { type Db, rows, transaction } from './db.ts'
import { domainNotFound, live } from './domain-record.ts'
import { parseEmailAddress } from './email-address.ts'
import type { LinkSigner } from './link-signer.ts'
import { addMailJob } from './mail-jobs.ts'
import { PROJECT, type Project } from './projects.ts'

/** What a connect link opens: one hostname of one project, for its owner, who has no account. */
export type Connection = { linkId: string; hostname: Hostname; project: Project; brand: Brand; expiresAt: string }

const LINK_DAYS = 30
const LINKS_A_DOMAIN_MAX = 20 // the oldest give way
const NOTE_CHARACTERS_MAX = 1_000

/** Makes a link for the owner of the hostname: 30 days, as long as the project holds it. Throws `domain_not_found`. */
export async function createConnectLink(
  db: Db,
  project: Project,
  hostname: Hostname,
  actor: Actor = OPERATOR,
): Promise<{ id: string; expiresAt: string }> {
  return transaction(db, async (tx) => {
    const [link] = await rows(
      tx,
      sql<{ id: string; domainId: string; expiresAt: Date }>`
        insert into connect_links (domain_id, expires_at)
        select d.id, date_trunc('milliseconds', now()) + make_interval(days => ${LINK_DAYS}) from domains d where ${live(project, hostname)}
        returning id, domain_id as "domainId", expires_at as "expiresAt"`,
    )
    if (!link) throw domainNotFound(hostname)
    await rows(
      tx,
      sql`delete from connect_links where domain_id = ${link.domainId} and id not in (
        select id from connect_links where domain_id = ${link.domainId} order by expires_at desc limit ${LINKS_A_DOMAIN_MAX})`,
    )
    await recordActivity(tx, { projectId: project.id, actor, action: 'domain.link-made', subject: hostname })
    return { id: link.id, expiresAt: link.expiresAt.toISOString() }
  })
}

/** The page that a link opens. The token stands in the fragment: no server's log and no other page gets to see it. */
export function connectUrl(portalUrl: URL, token: string): string {
  return new URL(`/connect#${token}`, portalUrl).href
}

/** Throws `connect_link_invalid` when the link has expired, was not made here, or its hostname is no longer the project's. */
export async function findConnection(db: Db, signer: LinkSigner, token: string): Promise<Connection> {
  const linkId = signer.idOf(token)
  const [found] = linkId === undefined ? [] : await readConnection(db, linkId)
  if (!linkId || !found)
    throw new ServiceError('connect_link_invalid', 'this link has expired or was withdrawn: ask whoever sent it for a new one')
  const { hostname, color, logoUrl, expiresAt, ...project } = found
  return { linkId, hostname, project, brand: { color, logoUrl }, expiresAt: expiresAt.toISOString() }
}

/** Mails the records to add to whoever manages the DNS, with the link. Throws `email_invalid` or `body_invalid`. */
export async function mailInstructions(db: Db, connection: Connection, wanted: { to: string; note?: string | undefined }): Promise<void> {
  const { linkId, hostname, project } = connection
  const note = wanted.note?.trim() || null
  if (note !== null && (note.length > NOTE_CHARACTERS_MAX || !note.isWellFormed() || note.includes('\0'))) {
    throw new ServiceError('body_invalid', `a note has at most ${NOTE_CHARACTERS_MAX} characters`)
  }
  await addMailJob(db, { kind: 'dns-instructions', to: parseEmailAddress(wanted.to), projectId: project.id, hostname, note, linkId })
}

/** Deletes links that have expired or lost their claim. */
export async function pruneConnectLinks(db: Db): Promise<void> {
  await rows(
    db,
    sql`delete from connect_links l using domains d where d.id = l.domain_id and (l.expires_at < now() or d.deleted_at is not null)`,
  )
}

function readConnection(db: Db, linkId: string) {
  return rows(
    db,
    sql<Project & Brand & { hostname: Hostname; expiresAt: Date }>`
      select ${PROJECT}, d.hostname, p.brand_color as color, p.brand_logo_url as "logoUrl", l.expires_at as "expiresAt"
      from connect_links l join domains d on d.id = l.domain_id and d.deleted_at is null
      join projects p on p.id = d.project_id and p.deleted_at is null
      where l.id = ${linkId}::uuid and l.expires_at > now()`,
  )
}
