import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { type Hostname, withoutStar } from '../hostname.ts'
import { type Db, rows } from './db.ts'

const LABEL_CHARACTERS = 40 // 160 bits in hexadecimal

/** The name at which an authority looks for a DNS-01 challenge (RFC 8555 §8.4); a wildcard shares it with the name that it stands below. */
export function challengeNameOf(hostname: Hostname): string {
  return `_acme-challenge.${withoutStar(hostname)}`
}

/**
 * The label below NAMESAKE_DNS_ZONE that a hostname's challenges are delegated to. It is the project's own: whoever claims the hostname
 * later has another one, so a record that a customer forgot serves nobody else.
 */
export function delegationLabel(projectProof: string, hostname: Hostname): string {
  return createHash('sha256')
    .update(`delegation\0${projectProof}\0${withoutStar(hostname)}`)
    .digest('hex')
    .slice(0, LABEL_CHARACTERS)
}

/** Whether a label may be one of ours. */
export function isDelegationLabel(label: string): boolean {
  return label.length === LABEL_CHARACTERS && /^[0-9a-f]+$/.test(label)
}

/** The label of a hostname for whoever holds it now, and whether the last check found its challenges delegated there; undefined when nobody holds it. */
export async function findDelegation(db: Db, hostname: Hostname): Promise<{ label: string; delegated: boolean } | undefined> {
  const [found] = await rows(
    db,
    sql<{ proof: string; delegated: boolean }>`
      select o.proof, p.delegated from domains d join projects o on o.id = d.project_id join probes p on p.domain_id = d.id
      where d.hostname = ${hostname} and d.deleted_at is null`,
  )
  return found && { label: delegationLabel(found.proof, hostname), delegated: found.delegated }
}
