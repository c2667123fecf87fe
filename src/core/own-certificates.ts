import { sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { requestIssuance } from './certificates.ts'
import { type Db, rows, transaction } from './db.ts'
import { dropOthers } from './issuance-attempts.ts'
import { isOwnStill } from './issuance-standing.ts'

const SAID_AGAIN_AFTER = sql.lit('1 hour') // of the day that it holds for
const KEPT_FOR = sql.lit('30 days')

export type ClaimedHost = { hostname: Hostname; projectSlug: string }

/**
 * Says that the hosts are the service's own (edge, API, portal), and has certificates issued for them where they have none, and renewed for as long as
 * this is called at least daily. What a project left behind at one of them gives way. A project that holds one goes on: the certificate is
 * that claim's until it is given up. Says which hosts those are.
 */
export async function requestOwnCertificates(db: Db, hostnames: readonly Hostname[]): Promise<ClaimedHost[]> {
  for (const hostname of hostnames) {
    await transaction(db, async (tx) => {
      await dropOthers(tx, hostname, null)
      await rows(
        tx,
        sql`
          with said_again as (
            update certificates c set own_at = now(), next_attempt_at = case when ${isOwnStill('c')} then next_attempt_at else now() end
            where hostname = ${hostname} and project_id is null and own_at <= now() - interval ${SAID_AGAIN_AFTER}
          )
          insert into certificates (hostname, next_attempt_at) values (${hostname}, now()) on conflict do nothing`,
      )
    })
    await requestIssuance(db, hostname)
  }
  return rows(
    db,
    sql<ClaimedHost>`
      select d.hostname, p.slug as "projectSlug" from domains d join projects p on p.id = d.project_id
      where d.hostname = any(${hostnames}::text[]) and d.deleted_at is null order by d.hostname`,
  )
}

/**
 * Deletes the certificates and keys of hosts that are none of `own` and that no worker has called the service's own for 30 days, and what has no
 * certificate after a day, and says how many. To be called daily.
 */
export async function forgetFormerOwnCertificates(db: Db, own: readonly Hostname[]): Promise<number> {
  const forgotten = await rows(
    db,
    sql`
      with forgotten as (
        delete from certificates c where c.project_id is null and c.hostname <> all(${own}::text[])
          and not ${isOwnStill('c')} and (c.chain_pem is null or c.own_at < now() - interval ${KEPT_FOR})
        returning c.hostname
      )
      insert into changes (kind, key) select 'certificate', hostname from forgotten returning key`,
  )
  return forgotten.length
}
