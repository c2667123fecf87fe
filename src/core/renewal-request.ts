import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import type { Hostname } from '../hostname.ts'
import { type Db, rows, type Tx, transaction } from './db.ts'
import { forbidden, look } from './issuance-standing.ts'
import { addIssueJobs } from './issue-jobs.ts'

/** `validUntil`: the certificate in hand serves on until then; null when there is none that is valid. `reason` is a sentence. */
export type RenewalAnswer =
  | { kind: 'requested'; validUntil: Date | null }
  | { kind: 'under-way'; validUntil: Date | null }
  | { kind: 'refused'; reason: string }

/**
 * An operator wants a new certificate now: ordered also when the present one is fresh or our own back-off runs. Only the authority's
 * rate limits stand, as an order before there is room could not succeed, and an imported certificate while it is valid. Throws
 * `domain_not_found` when nobody holds the hostname.
 */
export async function requestRenewal(db: Db, hostname: Hostname): Promise<RenewalAnswer> {
  return transaction(db, async (tx) => {
    const standing = await look(tx, hostname)
    if (!standing.known) throw new ServiceError('domain_not_found', `${hostname} is not registered`)
    const inHand = await lookInHand(tx, hostname)
    const reason = forbidden(standing) ?? imported(inHand, standing.valid) ?? waiting(inHand) ?? limited(inHand, standing.waitsUntil)
    if (reason) return { kind: 'refused', reason }
    const validUntil = standing.valid ? inHand!.notAfter : null
    if (standing.underWay) return { kind: 'under-way', validUntil }
    await makeDue(tx, hostname)
    await addIssueJobs(tx, [hostname])
    return { kind: 'requested', validUntil }
  })
}

type InHand = {
  notAfter: Date | null
  origin: string
  problem: { type?: unknown } | null
  postponedUntil: Date | null
  postponedReason: string | null
}

async function lookInHand(tx: Tx, hostname: Hostname): Promise<InHand | undefined> {
  const [inHand] = await rows(
    tx,
    sql<InHand>`
      select not_after as "notAfter", origin, last_problem as problem, postponed_reason as "postponedReason",
        case when postponed_until > now() then postponed_until end as "postponedUntil"
      from certificates where hostname = ${hostname}`,
  )
  return inHand
}

function imported(inHand: InHand | undefined, valid: boolean): string | undefined {
  if (inHand?.origin !== 'imported' || !valid) return undefined
  return `its certificate was imported and is valid until ${inHand.notAfter!.toISOString()}: import the next one, or have one ordered in its place (certificates order)`
}

function waiting(inHand: InHand | undefined): string | undefined {
  if (!inHand?.postponedUntil) return undefined
  return `it waits for room until ${inHand.postponedUntil.toISOString()}. ${inHand.postponedReason}`
}

function limited(inHand: InHand | undefined, waitsUntil: Date | null): string | undefined {
  if (!waitsUntil || !String(inHand?.problem?.type).endsWith(':rateLimited')) return undefined
  return `the authority's limit is reached: the next attempt is at ${waitsUntil.toISOString()}`
}

/** An attempt that has just begun decides by itself, and its row is left alone. */
async function makeDue(tx: Tx, hostname: Hostname): Promise<void> {
  await rows(
    tx,
    sql`
      with due as (
        update certificates set renew_at = least(renew_at, now()), next_attempt_at = now(), ari_due_at = null, renewal_stopped_at = null, version = nextval('versions')
        where hostname = ${hostname} and (lease_until is null or lease_until <= now()) returning hostname
      )
      insert into changes (kind, key) select 'certificate', hostname from due`,
  )
}
