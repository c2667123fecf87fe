import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import type { Hostname } from '../hostname.ts'
import type { IssuedRecord } from './certificates.ts'
import { type Db, rows, transaction } from './db.ts'
import { domainNotFound } from './domain-record.ts'
import { heldBackUntil, lateAttempts } from './issuance-attempts.ts'
import { LEFT_LINE } from './issuance-line.ts'
import { addIssueJobs } from './issue-jobs.ts'
import { addLiveJobs } from './live-checks.ts'
import { historyOfImported } from './order-history.ts'
import type { Project } from './projects.ts'

/**
 * Keeps a certificate that was obtained elsewhere and has been validated, in the place of whatever the hostname had; also of an order
 * that is under way. No order replaces it while it is valid, and the attempts before it still hold back the next. Throws `domain_not_found` when nobody holds the hostname, or not `project`, where
 * that is given.
 */
export async function importCertificate(
  db: Db,
  hostname: Hostname,
  imported: Omit<IssuedRecord, 'renewAt'>,
  project?: Project,
): Promise<void> {
  await transaction(db, async (tx) => {
    // The claim is locked: who releases it waits for us, and the next holder's claim then ends what we keep here.
    const [holder] = await rows(
      tx,
      sql<{ projectId: string | null }>`
        with claim as (select project_id from domains where hostname = ${hostname} and deleted_at is null for share)
        select project_id as "projectId" from claim
        union all select null from certificates where hostname = ${hostname} and project_id is null and not exists (select from claim)`,
    )
    if (!holder) throw new ServiceError('domain_not_found', `${hostname} is not registered`)
    const { projectId } = holder
    if (project && project.id !== projectId) throw domainNotFound(hostname)
    await rows(tx, sql`delete from certificates where hostname = ${hostname} and project_id is distinct from ${projectId}::bigint`)
    const { chainPem, sealedKey, issuer, serial, notBefore, notAfter } = imported
    await rows(
      tx,
      sql`
        with kept as (
          insert into certificates (hostname, project_id, origin, state, chain_pem, sealed_key, issuer, serial, not_before, not_after,
            renew_at, next_attempt_at)
          values (${hostname}, ${projectId}::bigint, 'imported', 'issued', ${chainPem}, ${sealedKey}, ${issuer}, ${serial}, ${notBefore},
            ${notAfter}, ${notAfter}, ${notAfter})
          on conflict (hostname) do update set origin = excluded.origin, state = excluded.state, chain_pem = excluded.chain_pem,
            sealed_key = excluded.sealed_key, issuer = excluded.issuer, serial = excluded.serial, not_before = excluded.not_before,
            not_after = excluded.not_after, renew_at = greatest(excluded.not_after, ${heldBackUntil('certificates')}),
            next_attempt_at = greatest(excluded.not_after, ${heldBackUntil('certificates')}), last_problem = null, last_sentence = null, lease_until = null, directory = null, ari_checked_at = null, ari_due_at = null,
            wished_from = null, explanation_url = null, dns_left_at = null, renewal_stopped_at = null, ${LEFT_LINE},
            version = nextval('versions')
          returning hostname, issuer, serial, not_after
        ), ${historyOfImported(hostname)}
        insert into changes (kind, key) select 'certificate', hostname from kept`,
    )
    await addLiveJobs(tx, [hostname])
  })
}

/**
 * Hands an imported certificate back to the service: one is ordered in its place as soon as the DNS leads here and no failure before it
 * holds it back, and renewed from then on. The imported one serves until then. Throws `domain_not_found` when the hostname has no imported certificate, or is not `project`'s, where that is
 * given.
 */
export async function orderInsteadOfImported(db: Db, hostname: Hostname, project?: Project): Promise<void> {
  await transaction(db, async (tx) => {
    const handed = await rows(
      tx,
      sql`
        with handed as (
          update certificates c set origin = 'ordered', renew_at = greatest(now(), ${heldBackUntil('c')}),
            next_attempt_at = greatest(now(), ${heldBackUntil('c')}), attempts = ${lateAttempts('c')}, version = nextval('versions')
          where hostname = ${hostname} and origin = 'imported' and chain_pem is not null
            and (${project?.id ?? null}::bigint is null or project_id = ${project?.id ?? null}::bigint) and (project_id is null or exists (
            select from domains d where d.hostname = c.hostname and d.project_id = c.project_id and d.deleted_at is null))
          returning hostname
        )
        insert into changes (kind, key) select 'certificate', hostname from handed returning key`,
    )
    if (handed.length === 0)
      throw new ServiceError(
        'domain_not_found',
        `${hostname} has no imported certificate, so there is none to replace: what was ordered is renewed by itself`,
      )
    await addIssueJobs(tx, [hostname])
  })
}
