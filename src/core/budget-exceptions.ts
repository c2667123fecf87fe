import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import type { Hostname } from '../hostname.ts'
import { type Db, rows, type Tx, transaction } from './db.ts'
import { limitsOf, registeredDomainOf, roomForNew } from './issuance-limits.ts'

/** What an operator has agreed with a directory: so many certificates in its week for a registered domain and all names below it. */
export type BudgetException = { directory: string; registeredDomain: string; certificates: number; note: string; createdAt: string }

/**
 * Has the ledger allow so many certificates in 7 days for the registered domain, instead of the directory's own limit; over whatever was
 * agreed before, of which the note stays where none is given. Of the hostnames below it that wait for this limit, as many are tried at once as have room. Throws `hostname_invalid` for a name below the
 * registered domain, and `body_invalid` for a number of certificates that is none or a directory without limits.
 */
export async function allowDomain(
  db: Db,
  { directory, domain, certificates, note }: { directory: string; domain: Hostname; certificates: number; note?: string | undefined },
): Promise<BudgetException> {
  if (limitsOf(directory).length === 0) throw new ServiceError('body_invalid', `${directory} has no limits, so it needs no exception`)
  requireRegistered(domain)
  if (!Number.isInteger(certificates) || certificates < 1 || certificates > CERTIFICATES_MAX) {
    throw new ServiceError('body_invalid', `the number of certificates must be a whole number from 1 to ${CERTIFICATES_MAX}`)
  }
  return transaction(db, async (tx) => {
    const [exception] = await rows(
      tx,
      sql<Row>`
        insert into issuance_exceptions as e (directory, registered_domain, certificates, note)
        values (${directory}, ${domain}, ${certificates}, coalesce(${note ?? null}, ''))
        on conflict (directory, registered_domain) do update set certificates = excluded.certificates, note = coalesce(${note ?? null}, e.note)
        returning ${EXCEPTION}`,
    )
    await rows(
      tx,
      sql`delete from issuance_blocks where directory = ${directory} and scope = 'domain' and key = ${domain}`, // it was for the former limit
    )
    await callWaiting(tx, domain, roomForNew({ scope: 'domain', max: certificates, windowS: WEEK_S }))
    return toException(exception!)
  })
}

/** Ends an exception: from now on the directory's own limit holds. Throws `domain_not_found` when there is none. */
export async function disallowDomain(db: Db, { directory, domain }: { directory: string; domain: Hostname }): Promise<void> {
  const ended = await rows(
    db,
    sql`delete from issuance_exceptions where directory = ${directory} and registered_domain = ${domain} returning registered_domain`,
  )
  if (ended.length === 0) throw new ServiceError('domain_not_found', `no exception is kept for ${domain} at ${directory}`)
}

/** Every exception, by directory and domain. */
export async function listExceptions(db: Db): Promise<BudgetException[]> {
  const exceptions = await rows(db, sql<Row>`select ${EXCEPTION} from issuance_exceptions e order by e.directory, e.registered_domain`)
  return exceptions.map(toException)
}

/** Those that wait for the domain's limit are called at once as far as there is room for them in a week, the others a week later and so on. */
async function callWaiting(tx: Tx, domain: Hostname, roomAWeek: number): Promise<void> {
  await rows(
    tx,
    sql`
      with waiting as (
        select hostname, postponed_until, now() + make_interval(secs => ${WEEK_S} * ((row_number() over (order by waits_since, hostname) - 1)
          / ${roomAWeek}::int)) as turn
        from certificates where postponed_by = 'domain' and postponed_until > now()
          and (hostname = ${domain} or right(hostname, ${domain.length + 1}::int) = ${`.${domain}`})
      ), called as (
        update certificates c set next_attempt_at = turn, postponed_until = turn, version = nextval('versions')
        from waiting where c.hostname = waiting.hostname and turn < c.postponed_until returning c.hostname
      )
      insert into changes (kind, key) select 'certificate', hostname from called`,
  )
}

const WEEK_S = 7 * 86_400
const CERTIFICATES_MAX = 1_000_000
const EXCEPTION = sql<Row>`e.directory, e.registered_domain as "registeredDomain", e.certificates, e.note, e.created_at as "createdAt"`

type Row = Omit<BudgetException, 'createdAt'> & { createdAt: Date }

function toException(row: Row): BudgetException {
  return { ...row, createdAt: row.createdAt.toISOString() }
}

function requireRegistered(domain: Hostname): void {
  const registered = registeredDomainOf(domain)
  if (registered !== domain) {
    throw new ServiceError('hostname_invalid', `the authorities count ${domain} for ${registered}: make the exception for ${registered}`)
  }
}
