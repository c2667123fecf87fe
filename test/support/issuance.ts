import { beginIssuance, recordCertificate } from '../../src/core/certificates.ts'
import type { Db } from '../../src/core/db.ts'
import type { Hostname } from '../../src/hostname.ts'

const DAY_MS = 86_400_000

/** As certificates have it: whole seconds. */
export const inDays = (days: number) => new Date(Math.floor(Date.now() / 1_000) * 1_000 + days * DAY_MS)

/** A certificate as a worker stores it; its texts mean nothing. */
export const issued = (notAfterDays = 90, renewDays = 60, notBeforeDays = -1) => ({
  ...{ chainPem: '-----BEGIN CERTIFICATE-----', sealedKey: Buffer.from([0, 1, 255]), issuer: 'CN=Test CA', serial: '0a' },
  ...{ notBefore: inDays(notBeforeDays), notAfter: inDays(notAfterDays), renewAt: inDays(renewDays) },
})

/** As a worker does that has just obtained it. */
export async function issue(db: Db, hostname: Hostname, certificate = issued()): Promise<void> {
  const begun = await beginIssuance(db, hostname)
  if (begun.kind !== 'go') throw new Error(`${hostname} may have no certificate now: ${JSON.stringify(begun)}`)
  await recordCertificate(db, hostname, certificate)
}

/** Takes the orders that wait for workers, and says how many those are. */
export async function takeIssueJobs(db: Db, hostname: Hostname): Promise<number> {
  const { rows } = await db.pool.query('delete from graphile_worker._private_jobs where key = $1 returning id', [`issue:${hostname}`])
  return rows.length
}
