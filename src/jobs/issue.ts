import {
  beginIssuance,
  type IssuanceFailure,
  type IssuancePermission,
  type IssuanceTerms,
  recordCertificate,
  recordIssuanceFailure,
} from '../core/certificates.ts'
import type { Db } from '../core/db.ts'
import { settleOrder } from '../core/issuance-budget.ts'
import { findHeldCertificate, type HeldCertificate } from '../core/renewals.ts'
import { type Hostname, parseClaimName } from '../hostname.ts'
import type { Log } from '../log.ts'

const URGENT_SHARE = 1 / 3
const INTERNAL = 'The certificate could not be obtained because of an internal error; it is tried again.'

/** What a certificate order hands back; the key is sealed before it leaves the process. */
export type Issued = {
  chainPem: string
  keyPem: string
  issuer: string
  serial: string
  notBefore: Date
  notAfter: Date
  renewAt: Date
  directory: string
}

/** Why no certificate came of an attempt: what is stored and shown is `problem`, what a customer reads is `sentence`. The rest as in IssuanceFailure. */
export type Refusal = IssuanceFailure

/** The challenges that can work, first preferred; without it, whatever the authority is always asked for. */
export type Ways = readonly ('http-01' | 'dns-01' | 'tls-alpn-01')[]

/** What an order goes out with: the room that was taken for it, the certificate that it replaces, and how control may be proven. */
export type Going = { permission: IssuancePermission; held: HeldCertificate | undefined; ways?: Ways | undefined }

export const ORDER_OUTCOMES = ['issued', 'refused', 'not-ordered'] as const
export type OrderOutcome = (typeof ORDER_OUTCOMES)[number]

export type IssueParts = {
  db: Db
  log: Log
  /** Where an order may go, first preferred. */
  directories: readonly string[]
  /** Of each of them, instead of what is known of it. */
  limits?: IssuanceTerms['limits']
  /** Whether an order could succeed, and by which challenges: DNS leads to the edge and nobody else answers them. Costs the authority nothing. */
  precheck(hostname: Hostname): Promise<{ kind: 'go'; ways?: Ways } | ({ kind: 'no' } & Refusal)>
  /**
   * Begins with the directory that the permission names, and settles the order that it holds, as well as any it takes itself. `held` is what
   * the new certificate replaces.
   */
  order(hostname: Hostname, going: Going): Promise<({ kind: 'issued' } & Issued) | ({ kind: 'refused' } & Refusal)>
  sealKey(keyPem: string, hostname: Hostname): Buffer
  announce(hostname: Hostname): void
  now(): Date
  count(outcome: OrderOutcome): void
}

/**
 * Obtains the certificate of one hostname and stores it. Permission is asked again here, since minutes may lie between the wish and the
 * work. A failure is recorded with the authority's own words and a back-off; a certificate already in hand stays. `workerId` is whose death
 * hands it to another; what an attempt that was overtaken ends with is dropped.
 */
export async function issueCertificate(parts: IssueParts, payload: unknown, workerId?: string): Promise<void> {
  const hostname = parseClaimName((payload as { hostname: string }).hostname)
  const permission = await beginIssuance(parts.db, hostname, { directories: parts.directories, limits: parts.limits, workerId })
  if (permission.kind === 'no') {
    if (permission.postponed) parts.announce(hostname)
    parts.log[permission.postponed ? 'warn' : 'debug']({ hostname, reason: permission.reason }, 'no certificate is ordered')
    return
  }
  const held = permission.renewing ? await findHeldCertificate(parts.db, hostname) : undefined
  const outcome = await obtain(parts, hostname, { permission, held })
  parts.count(outcome.kind)
  if (outcome.kind === 'issued' && !(await keep(parts, hostname, outcome, permission)).kept) {
    const between = 'meanwhile the hostname may have changed hands, a certificate been imported, or a later attempt begun'
    parts.log.warn({ hostname, serial: outcome.serial }, `a certificate came too late and is not kept: ${between}`)
    return
  }
  const stopped = outcome.kind !== 'issued' && (await recordIssuanceFailure(parts.db, hostname, outcome, permission)).stopped
  parts.announce(hostname)
  if (outcome.kind === 'issued') parts.log.info({ hostname, serial: outcome.serial, notAfter: outcome.notAfter }, 'certificate issued')
  else if (stopped)
    parts.log.warn({ hostname, reason: outcome.sentence }, 'renewal stopped: DNS has led elsewhere since before the end of the certificate')
  else logFailure(parts, { hostname, outcome: outcome.kind, reason: outcome.sentence }, held)
}

/**
 * A renewal begins so early that most failures mend themselves, and a hundred thousand of them in an authority's outage are no news. What
 * has used up two thirds of the time between renewal and end is for a human.
 */
function logFailure({ log, now }: IssueParts, facts: object, held: HeldCertificate | undefined): void {
  if (!held) {
    log.warn(facts, 'no certificate; it is tried again')
    return
  }
  const { renewAt, notAfter } = held
  const urgent = notAfter.getTime() - now().getTime() < (notAfter.getTime() - renewAt.getTime()) * URGENT_SHARE
  if (urgent) log.warn({ ...facts, notAfter }, 'certificate ends soon and could not be renewed; it is tried again')
  else log.info({ ...facts, notAfter }, 'certificate not renewed yet; the one in hand is served and it is tried again')
}

type Outcome = ({ kind: 'issued' } & Issued) | ({ kind: 'refused' | 'not-ordered' } & Refusal)

async function obtain(parts: IssueParts, hostname: Hostname, going: Going): Promise<Outcome> {
  let ordering = false
  try {
    const checked = await parts.precheck(hostname)
    if (checked.kind === 'no')
      return { ...checked, kind: 'not-ordered', sentence: withWhatIsServed(checked.sentence, going.held, parts.now()) }
    ordering = true
    return await parts.order(hostname, { ...going, ways: checked.ways })
  } catch (error) {
    parts.log.error({ err: error, hostname }, 'issuing failed unexpectedly')
    return {
      kind: 'refused',
      problem: { type: 'urn:namesake:error:internal', detail: INTERNAL }, // the vendor reads it: what broke stands in the log alone
      sentence: INTERNAL,
    }
  } finally {
    if (!ordering && !going.permission.resumes) await settleOrder(parts.db, going.permission.orderId, 'not-sent')
  }
}

function withWhatIsServed(sentence: string, held: HeldCertificate | undefined, now: Date): string {
  if (!held) return sentence
  const { notAfter } = held
  const inHand = notAfter > now ? `the one in hand is served until ${notAfter.toISOString()}` : `it ended on ${notAfter.toISOString()}`
  return `${sentence} So the certificate is not renewed; ${inHand}.`
}

function keep(parts: IssueParts, hostname: Hostname, issued: Issued, permission: IssuancePermission): Promise<{ kept: boolean }> {
  const { chainPem, keyPem, issuer, serial, notBefore, notAfter, renewAt, directory } = issued
  const sealedKey = parts.sealKey(keyPem, hostname)
  const record = { chainPem, sealedKey, issuer, serial, notBefore, notAfter, renewAt, directory }
  return recordCertificate(parts.db, hostname, record, permission)
}
