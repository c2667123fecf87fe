import { type RawBuilder, sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Db, type Queryable, rows, type Tx, transaction } from './db.ts'
import { type IssuanceLimit, type LimitScope, LONGEST_WINDOW_S, limitsOf, registeredDomainOf, roomForNew } from './issuance-limits.ts'
import { findPlace, isPrivileged, placeIn } from './issuance-line.ts'
import { ISSUANCE_LEASE_S } from './issue-jobs.ts'

/**
 * An order that somebody wants to send. `asked`: the directory itself asked for this renewal (ARI), the order names what it replaces, and so
 * the directory does not count it.
 */
export type BudgetRequest = {
  directory: string
  hostname: Hostname
  /** Null: a host of the service itself, which may use what is kept for renewals. */
  projectId: string | null
  /** Whether it counts as a renewal. */
  renewing: boolean
  asked?: boolean | undefined
  /** Instead of what is known of the directory. */
  limits?: readonly IssuanceLimit[] | undefined
}

/** `orderId` goes to `settleOrder`; null where nothing is counted. `asked` as in the request. `full`: of the directories before it, which have no room, the first to have some. */
export type Taken = { kind: 'taken'; directory: string; orderId: string | null; asked: boolean; full?: NoRoom | undefined }

/**
 * Which limit leaves no room (`share`: the project's part of the account's), until when for this hostname, behind those that wait in the same
 * `line`, and a sentence that says so without the time.
 */
export type NoRoom = { kind: 'no-room'; limit: LimitScope | 'share'; until: Date; sentence: string; line: string }

/** `not-sent` gives the order back; `invalid` is a hostname that the authority could not validate; `refused` whatever else went wrong. */
export type OrderOutcome = 'issued' | 'invalid' | 'refused' | 'not-sent'

/** A `rateLimited` problem: what it said, and for how long it asks to be left alone. */
export type RateLimit = { directory: string; hostname: Hostname; detail: string; retryAfterS: number }

/** The problem of a renewal that its directory had asked for, then refused to exempt, and that found no ordinary room. */
export const NO_ROOM_PROBLEM = 'urn:namesake:error:noRoom'

const FAIR_SHARE_RETRY_S = 600
const FAIR_SHARE_AT_ONCE = 20 // more than an account's room for new orders in that time
const UNKNOWN_SCOPE_BLOCK_S_MAX = 3_600 // it holds everybody back, on the strength of a sentence that we do not understand

/**
 * Takes room for one order within everything that its directory allows, or says when there will be some. What is taken counts from the
 * transaction's commit; takers for one directory wait for each other's, so together they never take more than there is. An order under
 * way counts against every limit until `settleOrder` says better, so one whose worker died does as well, once `markSent` was called.
 *
 * A fifth of each limit is kept for renewals. While a project waits that has used less of the account's window, another's new orders may
 * have used at most as much as is left: it gets half of what there is, and the one that has used least is never held back.
 *
 * Whoever finds no room is told a time of its own, behind those that wait already; who waits longest has its turn first, and projects take
 * turns for the account's room. A newcomer does not take the room of one whose turn it is.
 */
export async function takeBudget(tx: Tx, request: BudgetRequest): Promise<Taken | NoRoom> {
  const { directory, hostname, projectId, renewing, asked = false } = request
  const limits = request.limits ?? limitsOf(directory)
  if (limits.length === 0) return { kind: 'taken', directory, orderId: null, asked }
  await rows(tx, sql`select pg_advisory_xact_lock(hashtextextended('issuance budget of ' || ${directory}, 0))`)
  const refusals = await findRefusals(tx, request, limits)
  const last = refusals.sort((a, b) => b.until.getTime() - a.until.getTime())[0] // asked again any sooner, it would be refused again
  if (last) return last
  const [order] = await rows(
    tx,
    sql<{ id: string }>`
      insert into issuance_orders (directory, hostname, registered_domain, project_id, renewal, exempt, sent, counted_at)
      values (${directory}, ${hostname}, ${registeredDomainOf(hostname)}, ${projectId}::bigint, ${renewing}, ${asked}, false,
        statement_timestamp() + make_interval(secs => ${ISSUANCE_LEASE_S})) returning id`,
  )
  return { kind: 'taken', directory, orderId: order!.id, asked }
}

/**
 * As takeBudget, from the first of the directories that has room. Without any, what is told is the one that has room first. `askedBy`: the
 * directory that asked for this renewal, if one did.
 */
export async function takeFirstBudget(
  tx: Tx,
  directories: readonly string[],
  { askedBy, ...request }: Omit<BudgetRequest, 'directory' | 'asked'> & { askedBy?: string | undefined },
): Promise<Taken | NoRoom> {
  const refusals: NoRoom[] = []
  for (const directory of directories) {
    const answer = await takeBudget(tx, { ...request, directory, asked: directory === askedBy })
    if (answer.kind === 'taken') return { ...answer, full: firstOf(refusals) }
    refusals.push(answer)
  }
  return firstOf(refusals)!
}

function firstOf(refusals: readonly NoRoom[]): NoRoom | undefined {
  return refusals.toSorted((a, b) => a.until.getTime() - b.until.getTime())[0]
}

/** As takeBudget, for an order that goes to another directory than the one it was begun with. */
export function takeFallbackBudget(db: Db, request: BudgetRequest): Promise<Taken | NoRoom> {
  return transaction(db, (tx) => takeBudget(tx, request))
}

/** An order that was to be exempt goes out as any other: it takes ordinary room in place of its entry, which is gone also when there is none. */
export function takeOrdinaryBudget(db: Db, orderId: string | null, request: Omit<BudgetRequest, 'asked'>): Promise<Taken | NoRoom> {
  return transaction(db, async (tx) => {
    await settleOrder(tx, orderId, 'not-sent')
    return takeBudget(tx, request)
  })
}

/** To be called before the order is sent. False where it must not be, since its room was given back. */
export async function markSent(db: Db, orderId: string | null): Promise<boolean> {
  if (orderId === null) return true
  const marked = await rows(db, sql`update issuance_orders set sent = true where id = ${orderId}::bigint returning id`)
  return marked.length > 0
}

/** Says what became of an order that was taken: from now on it counts against those limits alone that the directory counts it against. */
export async function settleOrder(on: Queryable, orderId: string | null, outcome: OrderOutcome): Promise<void> {
  if (orderId === null) return
  if (outcome === 'not-sent') await rows(on, sql`delete from issuance_orders where id = ${orderId}::bigint and outcome = 'under-way'`)
  else
    await rows(on, sql`update issuance_orders set outcome = ${outcome}, counted_at = statement_timestamp() where id = ${orderId}::bigint`)
}

/** An order that was left under way goes on: it counts from now as if it had just been taken. */
export async function renewUnderWay(db: Db, orderId: string): Promise<void> {
  await rows(
    db,
    sql`update issuance_orders set counted_at = statement_timestamp() + make_interval(secs => ${ISSUANCE_LEASE_S})
      where id = ${orderId}::bigint and outcome = 'under-way'`,
  )
}

/**
 * The directory says that a limit is reached which our ledger did not see: nothing that the limit covers is ordered for so long. Which
 * limit it is stands in the problem's words alone; words that we do not know hold the whole account back, for an hour at most.
 */
export async function recordRateLimit(db: Db, { directory, hostname, detail, retryAfterS }: RateLimit): Promise<void> {
  const known = scopeOf(detail)
  const scope = known ?? 'account'
  const seconds = Math.min(retryAfterS, known ? LONGEST_WINDOW_S : UNKNOWN_SCOPE_BLOCK_S_MAX)
  if (!(seconds > 0)) return
  await rows(
    db,
    sql`
      insert into issuance_blocks as b (directory, scope, key, until, detail)
      values (${directory}, ${scope}, ${keyOf(scope, hostname)}, now() + make_interval(secs => ${seconds}::float8), ${detail.replaceAll('\0', '')})
      on conflict (directory, scope, key) do update set until = greatest(b.until, excluded.until), detail = excluded.detail`,
  )
}

/**
 * Deletes what no limit counts any more, and what attempts that are over by now never sent; says how many orders that were. Whoever is still about to send one
 * finds its room gone (`markSent`). To be called now and then.
 */
export async function pruneBudget(db: Db): Promise<number> {
  const [pruned] = await rows(
    db,
    sql<{ orders: number }>`
      with blocks as (delete from issuance_blocks where until <= now()),
      orders as (
        delete from issuance_orders where counted_at <= now() - make_interval(secs => ${LONGEST_WINDOW_S})
          or outcome = 'under-way' and not sent and counted_at <= now() returning id
      )
      select count(*)::int as orders from orders`,
  )
  return pruned!.orders
}

// statement_timestamp, since the transaction's own time stands still while it waits for the lock, and an index can use it.
/** The orders `o` of a directory that count against a limit, within its window. */
export function counted(directory: string, { scope, windowS }: IssuanceLimit, key: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`o.directory = ${directory} and not (o.exempt and ${scope} <> 'failures') and ${COUNTS[scope](key)}
    and o.counted_at > statement_timestamp() - make_interval(secs => ${windowS})`
}

const COUNTS: Record<LimitScope, (key: RawBuilder<unknown>) => RawBuilder<unknown>> = {
  account: () => sql`true`,
  domain: (key) => sql`o.registered_domain = ${key} and o.outcome in ('under-way', 'issued')`,
  names: (key) => sql`o.hostname = ${key} and o.outcome in ('under-way', 'issued')`,
  failures: (key) => sql`o.hostname = ${key} and o.outcome in ('under-way', 'invalid')`,
}

/** What the line is called in which a hostname waits for room within a limit: those who may use what is kept for renewals have their own. */
function lineOf(request: BudgetRequest, scope: LimitScope): string {
  const { directory, hostname } = request
  return [directory, scope, keyOf(scope, hostname), isPrivileged(request) ? 'renewals' : ''].filter(Boolean).join(' ')
}

function keyOf(scope: LimitScope, hostname: Hostname): string {
  if (scope === 'account') return ''
  return scope === 'domain' ? registeredDomainOf(hostname) : hostname
}

function scopeOf(detail: string): LimitScope | undefined {
  if (/exact(ly)?( the)?( same)? set/i.test(detail)) return 'names'
  if (/failed (authori[sz]ations|validations)|temporarily prevented/i.test(detail)) return 'failures' // the second: an account paused for a hostname
  if (/certificates? .*already issued|registered domain/i.test(detail)) return 'domain'
  if (/new orders/i.test(detail)) return 'account'
  return undefined
}

async function findRefusals(tx: Tx, request: BudgetRequest, limits: readonly IssuanceLimit[]): Promise<NoRoom[]> {
  const privileged = isPrivileged(request)
  const refusals = await findBlocks(tx, request, limits)
  const counting = limits.filter(({ scope }) => !request.asked || scope === 'failures')
  const allowed = await Promise.all(counting.map((limit) => (limit.scope === 'domain' ? withException(tx, request, limit) : limit)))
  for (const { limit, left, until } of await findRooms(tx, request, allowed)) {
    if (left <= 0) {
      const line = lineOf(request, limit.scope)
      refusals.push({ kind: 'no-room', limit: limit.scope, until, sentence: tell(request, limit, privileged), line })
    } else if (limit.scope === 'account' && !privileged) refusals.push(...(await requireFairShare(tx, request, limit, left)))
  }
  return refusals
}

type Room = { limit: IssuanceLimit; left: number; until: Date }

/** How much room each limit leaves, all in one question: everybody else who orders at this directory waits for the answer. */
async function findRooms(tx: Tx, request: BudgetRequest, limits: readonly IssuanceLimit[]): Promise<Room[]> {
  if (limits.length === 0) return []
  const rooms = limits.map((limit, at) => sql`(${roomWithin(request, limit, at)})`)
  const found = await rows(tx, sql<Omit<Room, 'limit'> & { at: number }>`${sql.join(rooms, sql` union all `)} order by at`)
  return found.map(({ at, left, until }) => ({ limit: limits[at]!, left, until }))
}

/**
 * How many orders are left to the hostname and those behind it, and until when it waits if none is. Each order that leaves the window lets one
 * in of those that wait; an order that is let in leaves a window later. Orders under way may be given back by the end of their attempt.
 */
function roomWithin(request: BudgetRequest, limit: IssuanceLimit, at: number): RawBuilder<unknown> {
  const { directory, hostname } = request
  const { scope, windowS } = limit
  const max = isPrivileged(request) ? limit.max : roomForNew(limit)
  const inTurns = scope === 'account' && !isPrivileged(request)
  const isAlone = scope === 'names' || scope === 'failures' // nobody else waits for what counts one hostname
  const place = isAlone ? sql`select 0 as ahead, 0 as due` : placeIn(lineOf(request, scope), request, { inTurns })
  return sql`
    with place as (${place}), leaving as (
      select o.counted_at + case when o.counted_at > statement_timestamp() then interval '0' else make_interval(secs => ${windowS}) end as at
      from issuance_orders o where ${counted(directory, limit, sql`${keyOf(scope, hostname)}`)}
    ), turn as (
      select used, due, greatest(0, ahead - greatest(0, ${max}::int - used)) as turn
      from place, (select count(*)::int as used from leaving) leaving
    )
    select ${at}::int as at, ${max}::int - used - due as left, make_interval(secs => ${windowS} * (turn / ${max}::int))
      + coalesce((select at from leaving order by at offset greatest(0, used - ${max}::int) + turn % ${max}::int limit 1),
        statement_timestamp() + make_interval(secs => ${windowS})) as until
    from turn`
}

async function withException(tx: Tx, { directory, hostname }: BudgetRequest, limit: IssuanceLimit): Promise<IssuanceLimit> {
  const [exception] = await rows(
    tx,
    sql<{ certificates: number }>`select certificates from issuance_exceptions
      where directory = ${directory} and registered_domain = ${registeredDomainOf(hostname)}`,
  )
  return exception ? { ...limit, max: exception.certificates } : limit
}

async function findBlocks(tx: Tx, request: BudgetRequest, limits: readonly IssuanceLimit[]): Promise<NoRoom[]> {
  const { directory, hostname } = request
  const blocks = await rows(
    tx,
    sql<{ scope: LimitScope; until: Date; detail: string }>`
      select scope, until, detail from issuance_blocks where directory = ${directory} and until > statement_timestamp()
        and (scope, key) in (('account', ''), ('domain', ${keyOf('domain', hostname)}), ('names', ${hostname}), ('failures', ${hostname}))`,
  )
  return Promise.all(
    blocks.map(async ({ scope, until, detail }) => {
      const line = lineOf(request, scope)
      const limit = limits.find((one) => one.scope === scope)
      const { ahead } = await findPlace(tx, line, request)
      return {
        kind: 'no-room' as const,
        limit: scope,
        until: new Date(until.getTime() + (limit ? (ahead * limit.windowS * 1_000) / limit.max : 0)),
        sentence: `${nameOf(directory)} has reached a limit and asks to wait: ${detail.slice(0, 400)}${detail.endsWith('.') ? '' : '.'}`,
        line,
      }
    }),
  )
}

async function requireFairShare(tx: Tx, request: BudgetRequest, limit: IssuanceLimit, left: number): Promise<NoRoom[]> {
  const { directory, projectId } = request
  const line = `${directory} share ${projectId}`
  const [share] = await rows(
    tx,
    sql<{ mine: number; othersWait: boolean }>`
      with used as (
        select o.project_id, count(*)::int as orders from issuance_orders o
        where ${counted(directory, limit, sql`''`)} and not o.renewal and o.project_id is not null group by o.project_id
      ), mine as (
        select coalesce((select orders from used where project_id = ${projectId}::bigint), 0) as orders
      ), waiting as (
        select project_id, lease_until, last_problem from certificates
        where chain_pem is null and next_attempt_at is not null and (postponed_by is null or postponed_by in ('account', 'share'))
        union all -- what was brought is replaced as if there were none
        select project_id, lease_until, last_problem from certificates where chain_pem is not null and waits_for = ${lineOf(request, limit.scope)}
      )
      select mine.orders as mine, mine.orders >= ${left}::int and exists (
        select from waiting c left join used on used.project_id = c.project_id
        where coalesce(c.lease_until <= now(), true) and c.last_problem is null and c.project_id <> ${projectId}::bigint
          and coalesce(used.orders, 0) < mine.orders
      ) as "othersWait" from mine`,
  )
  if (!share!.othersWait) return []
  const sentence = `${nameOf(directory)} allows ${limit.max} orders in ${windowOf(limit)}; ${share!.mine} of them were this project's, and other projects wait for the rest.`
  const { ahead } = await findPlace(tx, line, request)
  const waitS = Math.min(limit.windowS, FAIR_SHARE_RETRY_S * (1 + Math.floor(ahead / FAIR_SHARE_AT_ONCE)))
  const [retry] = await rows(tx, sql<{ at: Date }>`select statement_timestamp() + make_interval(secs => ${waitS}) as at`)
  return [{ kind: 'no-room', limit: 'share', until: retry!.at, sentence, line }]
}

function tell({ directory, hostname }: BudgetRequest, limit: IssuanceLimit, privileged: boolean): string {
  const name = nameOf(directory)
  const within = windowOf(limit)
  const kept = limit.max - roomForNew(limit)
  const used = privileged || kept === 0 ? 'and all of them are used' : `of which ${kept} are kept for renewals and the others are used`
  switch (limit.scope) {
    case 'account':
      return `${name} allows ${limit.max} orders in ${within} for all hostnames of this service together, ${used}; this certificate is ordered by itself when there is room.`
    case 'domain':
      return `${name} allows ${limit.max} certificates in ${within} for ${registeredDomainOf(hostname)} and all names below it, ${used}; this certificate is ordered by itself when there is room.`
    case 'names':
      return `${name} allows ${limit.max} certificates in ${within} for ${hostname} alone, ${used}; removing and adding the hostname again uses one up each time.`
    case 'failures':
      return `${name} allows ${limit.max} failed checks of ${hostname} in ${within}, ${used}; correct what the last error says meanwhile.`
  }
}

function windowOf({ windowS }: IssuanceLimit): string {
  if (windowS === 3_600) return 'an hour'
  return windowS % 86_400 === 0 ? `${windowS / 86_400} days` : `${windowS / 3_600} hours`
}

function nameOf(directory: string): string {
  return URL.canParse(directory) ? new URL(directory).host : directory
}
