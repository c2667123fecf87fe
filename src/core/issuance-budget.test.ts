import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { changesSince, endOfFeed } from '../../test/support/feed.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES, claim, freshHostname } from '../../test/support/tenants.ts'
import type { Hostname } from '../hostname.ts'
import { beginIssuance, claimDueRenewals, recordCertificate, recordIssuanceFailure, requestIssuance } from './certificates.ts'
import { closeDatabase, connectDatabase, type Db, transaction } from './db.ts'
import { findDomain, removeDomain } from './domains.ts'
import { markSent, pruneBudget, recordRateLimit, settleOrder, takeBudget } from './issuance-budget.ts'
import type { IssuanceLimit, LimitScope } from './issuance-limits.ts'
import { CAA_PROBLEM } from './probes.ts'
import { requestRenewal } from './renewal-request.ts'
import { loadCertificates } from './routes.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

const HOUR_MS = 3_600_000
const WEEK_MS = 7 * 24 * HOUR_MS
const CERTIFICATE = {
  ...{ chainPem: '-----BEGIN CERTIFICATE-----', sealedKey: Buffer.from([1]), issuer: 'CN=Test CA', serial: '0a' },
  ...{ notBefore: new Date(0), notAfter: new Date('2200-01-01'), renewAt: new Date('2190-01-01') },
}

/** A directory with the public limits that no other test uses. */
const freshDirectory = () => `https://acme-${randomBytes(6).toString('hex')}.example.com/directory`
const freshDomain = () => `c-${randomBytes(6).toString('hex')}.test`
const only = (scope: LimitScope, max: number, windowS = 10_800): IssuanceLimit[] => [{ scope, max, windowS }]

type Wanted = Partial<Parameters<typeof takeBudget>[1]> & { directory: string }
const take = ({ hostname = freshHostname(freshDomain()), projectId = '1', renewing = false, ...wanted }: Wanted) =>
  transaction(db, (tx) => takeBudget(tx, { hostname, projectId, renewing, ...wanted }))

async function takeAs(outcome: Parameters<typeof settleOrder>[2], wanted: Wanted): Promise<string> {
  const taken = await take(wanted)
  if (taken.kind !== 'taken') return taken.sentence
  await settleOrder(db, taken.orderId, outcome)
  return taken.kind
}

const times = async <T>(count: number, fn: () => Promise<T>): Promise<T[]> => {
  const results: T[] = []
  for (let i = 0; i < count; i += 1) results.push(await fn())
  return results
}

/** Makes everything in the directory's ledger so much older. */
const age = (directory: string, interval: string) =>
  db.pool.query('update issuance_orders set counted_at = counted_at - $2::interval where directory = $1', [directory, interval])

async function ordersOf(directory: string): Promise<number> {
  const { rows } = await db.pool.query('select from issuance_orders where directory = $1', [directory])
  return rows.length
}

test('however many workers order at once for one registered domain, they never exceed what the directory allows', async () => {
  const [directory, domain] = [freshDirectory(), freshDomain()]
  const project = await addProject(db)
  const hostnames = await Promise.all(Array.from({ length: 60 }, () => claim(db, project, freshHostname(domain))))
  const workers = Array.from({ length: 4 }, () => connectDatabase(database.url, { applicationName: 'worker', poolMax: 5 }))
  try {
    const begun = await Promise.all(
      hostnames.map((hostname, i) => beginIssuance(workers[i % workers.length]!, hostname, { directories: [directory] })),
    )
    expect(begun.filter(({ kind }) => kind === 'go')).toHaveLength(40)
    expect(begun.filter((outcome) => outcome.kind === 'no' && outcome.postponed)).toHaveLength(20)
    const renewals = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        transaction(workers[i % workers.length]!, (tx) =>
          takeBudget(tx, { directory, hostname: freshHostname(domain), projectId: project.id, renewing: true }),
        ),
      ),
    )
    expect(renewals.filter(({ kind }) => kind === 'taken')).toHaveLength(10)
    expect(await ordersOf(directory)).toBe(50)
  } finally {
    await Promise.all(workers.map(closeDatabase))
  }
})

test('of parallel attempts for one hostname one takes room', async () => {
  const directory = freshDirectory()
  const hostname = await claim(db, await addProject(db))
  const begun = await Promise.all(Array.from({ length: 8 }, () => beginIssuance(db, hostname, { directories: [directory] })))
  expect(begun.filter(({ kind }) => kind === 'go')).toHaveLength(1)
  expect(begun.filter((outcome) => outcome.kind === 'no' && outcome.postponed)).toEqual([])
  expect(await ordersOf(directory)).toBe(1)
})

test('a hostname without room waits until the window opens, says so to its vendor and is refused at once by the edges', async () => {
  const [directory, domain] = [freshDirectory(), freshDomain()]
  const project = await addProject(db)
  await times(40, () => takeAs('issued', { directory, hostname: freshHostname(domain) }))
  await age(directory, '2 days')
  const hostname = await claim(db, project, freshHostname(domain))
  const cursor = await endOfFeed(db)
  const answer = await beginIssuance(db, hostname, { directories: [directory] })
  const reason = expect.stringMatching(`allows 50 certificates in 7 days for ${domain} and all names below it, of which 10 are kept`)
  expect(answer).toEqual({ kind: 'no', reason, postponed: true })
  expect(await changesSince(db, cursor)).toMatchObject([{ kind: 'certificate', key: hostname }])
  const { certificate } = await findDomain(db, project, hostname, CLAIM_RULES)
  expect(certificate).toMatchObject({ state: 'pending', attempts: 0, lastAttemptAt: null, lastError: null, nextIssuanceReason: reason })
  const opensInMs = Date.parse(certificate.nextIssuanceAt!) - Date.now()
  expect(Math.abs(opensInMs - (WEEK_MS - 48 * HOUR_MS))).toBeLessThan(60_000)
  expect(certificate.nextAttemptAt).toBe(certificate.nextIssuanceAt)
  expect(await requestIssuance(db, hostname)).toMatchObject({ kind: 'refused', reason })
  const [told] = await loadCertificates(db, [hostname])
  expect(told).toMatchObject({ state: 'failed', reason })
  expect(Math.abs(told!.nextAttemptAtMs! - Date.parse(certificate.nextIssuanceAt!))).toBeLessThan(60_000) // on this machine's clock
  await age(directory, '5 days')
  await db.pool.query('update certificates set next_attempt_at = now(), postponed_until = now() where hostname = $1', [hostname])
  expect(await beginIssuance(db, hostname, { directories: [directory] })).toMatchObject({ kind: 'go', attempt: 1 })
  expect((await findDomain(db, project, hostname, CLAIM_RULES)).certificate).toMatchObject({
    nextIssuanceAt: null,
    nextIssuanceReason: null,
  })
})

test('exactly the same names get four new certificates a week, and a fifth as a renewal', async () => {
  const [directory, hostname] = [freshDirectory(), freshHostname(freshDomain())]
  const outcomes = await times(5, () => takeAs('issued', { directory, hostname }))
  expect(outcomes).toEqual(['taken', 'taken', 'taken', 'taken', expect.stringContaining(`allows 5 certificates in 7 days for ${hostname}`)])
  expect(await takeAs('issued', { directory, hostname, renewing: true })).toBe('taken')
  expect(await takeAs('issued', { directory, hostname, renewing: true })).toContain('all of them are used')
})

test('five failed validations of a hostname hold it back for the rest of the hour, with the last error still to be read', async () => {
  const directory = freshDirectory()
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const problem = { type: 'urn:ietf:params:acme:error:dns', detail: 'NXDOMAIN' }
  for (let i = 0; i < 5; i += 1) {
    const begun = await beginIssuance(db, hostname, { directories: [directory] })
    expect(begun).toMatchObject({ kind: 'go' })
    if (begun.kind === 'go') await settleOrder(db, begun.orderId, 'invalid')
    await recordIssuanceFailure(db, hostname, { problem, sentence: 'It does not exist.' })
    await db.pool.query('update certificates set next_attempt_at = now() where hostname = $1', [hostname])
  }
  await age(directory, '20 minutes')
  const reason = expect.stringMatching(/5 failed checks of .* in an hour/)
  expect(await beginIssuance(db, hostname, { directories: [directory] })).toEqual({ kind: 'no', reason, postponed: true })
  const { certificate } = await findDomain(db, project, hostname, CLAIM_RULES)
  expect(certificate).toMatchObject({ attempts: 5, lastError: { problem }, nextIssuanceReason: reason })
  expect(Math.abs(Date.parse(certificate.nextIssuanceAt!) - Date.now() - (2 / 3) * HOUR_MS)).toBeLessThan(60_000)
  expect(await take({ directory, hostname: freshHostname() })).toMatchObject({ kind: 'taken' })
})

test('an order that was never sent is given back; one that failed counts for the account alone', async () => {
  const [directory, hostname] = [freshDirectory(), freshHostname(freshDomain())]
  expect(await times(10, () => takeAs('not-sent', { directory, hostname }))).toEqual(Array.from({ length: 10 }, () => 'taken'))
  expect(await ordersOf(directory)).toBe(0)
  expect(await times(10, () => takeAs('refused', { directory, hostname }))).toEqual(Array.from({ length: 10 }, () => 'taken'))
  const limits = only('account', 10)
  expect(await takeAs('issued', { directory, hostname, renewing: true, limits })).toContain('allows 10 orders in 3 hours')
})

test('an order whose worker died counts against everything; while it may still be given back, the others wait for its end only', async () => {
  const [directory, hostname] = [freshDirectory(), freshHostname(freshDomain())]
  await times(4, () => take({ directory, hostname }))
  const waiting = await take({ directory, hostname })
  expect(waiting).toMatchObject({ kind: 'no-room', until: expect.any(Date) })
  if (waiting.kind === 'no-room') expect(waiting.until.getTime() - Date.now()).toBeLessThan(181_000)
  await age(directory, '10 minutes')
  const late = await take({ directory, hostname })
  expect(late.kind === 'no-room' && late.until.getTime() - Date.now()).toBeGreaterThan(WEEK_MS - HOUR_MS)
})

test('a worker that dies before its order was sent uses up no place; one that may have sent it does', async () => {
  const directory = freshDirectory()
  const hostname = await claim(db, await addProject(db))
  const beginAndDie = async () => {
    const begun = await beginIssuance(db, hostname, { directories: [directory] })
    await db.pool.query('update certificates set lease_until = now() where hostname = $1', [hostname])
    return begun.kind === 'go' ? begun.orderId : begun.reason
  }
  const last = (await times(5, beginAndDie)).at(-1)! // exactly the same names get four a week
  expect(await ordersOf(directory)).toBe(1)
  expect(await markSent(db, last)).toBe(true)
  expect(await beginAndDie()).toMatch(/^\d+$/)
  expect(await ordersOf(directory)).toBe(2)
})

test('an order that its worker died before sending is given back though its hostname was removed; one that is still to be sent is not', async () => {
  const directory = freshDirectory()
  const project = await addProject(db)
  const begin = async () => {
    const hostname = await claim(db, project)
    const begun = await beginIssuance(db, hostname, { directories: [directory] })
    if (begun.kind === 'no') throw new Error(begun.reason)
    return { ...begun, hostname }
  }
  const sent = await begin()
  expect(await markSent(db, sent.orderId)).toBe(true)
  const unsent = await begin()
  await removeDomain(db, project, unsent.hostname)
  await age(directory, '3 minutes')
  const living = await begin()
  await pruneBudget(db)
  expect(await ordersOf(directory)).toBe(2)
  expect(await Promise.all([sent, unsent, living].map(({ orderId }) => markSent(db, orderId)))).toEqual([true, false, true])
})

test('a renewal that the directory asked for is counted by no limit, and takes nothing from others', async () => {
  const directory = freshDirectory()
  const wanted = { directory, hostname: freshHostname(freshDomain()), renewing: true, asked: true }
  expect(await times(20, () => takeAs('issued', wanted))).toEqual(Array.from({ length: 20 }, () => 'taken'))
  expect(await takeAs('issued', { directory, hostname: wanted.hostname })).toBe('taken')
})

test('while a project waits that has used less, another gets half of what is left, and no room stays unused', async () => {
  const [directory, limits] = [freshDirectory(), only('account', 25)] // 20 for new orders
  await db.pool.query('delete from certificates')
  const [greedy, modest] = [await addProject(db), await addProject(db)]
  const order = (projectId: string) => takeAs('issued', { directory, projectId, limits })
  expect(await times(6, () => order(greedy.id))).toEqual(Array.from({ length: 6 }, () => 'taken'))
  const waiting = await claim(db, modest)
  await db.pool.query('insert into certificates (hostname, project_id, next_attempt_at) values ($1, $2, now())', [waiting, modest.id])
  const more = await times(8, () => order(greedy.id))
  expect(more.filter((outcome) => outcome === 'taken')).toHaveLength(4)
  expect(more.at(-1)).toContain('other projects wait for the rest')
  expect(await times(10, () => order(modest.id))).toEqual(Array.from({ length: 10 }, () => 'taken'))
  expect(await order(modest.id)).toContain('allows 25 orders in 3 hours')
  expect(await takeAs('issued', { directory, projectId: greedy.id, renewing: true, limits })).toBe('taken')
  await db.pool.query('delete from certificates where hostname = $1', [waiting])
})

/** All clocks go on by so many minutes; then whoever has been called orders. */
async function live(directory: string, limits: IssuanceLimit[], minutes: number): Promise<{ orders: Hostname[]; refused: number }> {
  const interval = `${minutes} minutes`
  await age(directory, interval)
  await db.pool.query(
    `update certificates set postponed_until = postponed_until - $1::interval, next_attempt_at = next_attempt_at - $1::interval`,
    [interval],
  )
  const called = await db.pool.query<{ hostname: Hostname }>(
    'select hostname from certificates where next_attempt_at <= now() and chain_pem is null order by next_attempt_at',
  )
  const outcomes = { orders: [] as Hostname[], refused: 0 }
  for (const { hostname } of called.rows) {
    if (await orders(directory, limits, hostname)) outcomes.orders.push(hostname)
    else outcomes.refused += 1
  }
  return outcomes
}

/** Whether there was room for the hostname, which then has its certificate. */
async function orders(directory: string, limits: IssuanceLimit[], hostname: Hostname): Promise<boolean> {
  const begun = await beginIssuance(db, hostname, { directories: [directory], limits })
  if (begun.kind === 'no') return false
  await settleOrder(db, begun.orderId, 'issued')
  await recordCertificate(db, hostname, CERTIFICATE)
  return true
}

test('of two projects with 500 hostnames each, neither burns the account, and nobody retries in a herd', async () => {
  const [directory, limits] = [freshDirectory(), only('account', 250)] // 200 for new orders in 3 hours
  await db.pool.query('delete from certificates')
  const [greedy, late] = [await addProject(db), await addProject(db)]
  const claims = (project: typeof greedy) => Promise.all(Array.from({ length: 500 }, () => claim(db, project)))
  const [first, second] = [await claims(greedy), await claims(late)]
  const ordered = new Set<Hostname>()
  for (const hostname of first) if (await orders(directory, limits, hostname)) ordered.add(hostname)
  expect(ordered.size).toBe(200)
  for (const hostname of second) expect(await orders(directory, limits, hostname)).toBe(false)
  const count = (hostnames: Hostname[]) => hostnames.filter((hostname) => ordered.has(hostname)).length
  const steps = []
  for (let step = 0; step < 4 * 16 && ordered.size < 1_000; step += 1) {
    const { orders: made, refused } = await live(directory, limits, 15)
    for (const hostname of made) ordered.add(hostname)
    steps.push({ first: count(first), second: count(second), made: made.length, refused })
  }
  expect(steps[12]!.second).toBeGreaterThanOrEqual(100) // half of the first window in which it asks
  expect(ordered.size).toBe(1_000)
  expect(steps.reduce((sum, { refused }) => sum + refused, 0)).toBeLessThan(2_000) // two retries a hostname in 15 hours
}, 600_000)

test('hostnames that wait for one limit are called one after the other, in the order in which they came', async () => {
  const [directory, domain] = [freshDirectory(), freshDomain()]
  const project = await addProject(db)
  const limits = only('domain', 5) // four for new certificates in 3 hours
  for (let i = 0; i < 4; i += 1) {
    expect(await takeAs('issued', { directory, hostname: freshHostname(domain), limits })).toBe('taken')
    await age(directory, '10 minutes')
  }
  const names = await Promise.all(Array.from({ length: 10 }, () => claim(db, project, freshHostname(domain))))
  for (const hostname of names) await orders(directory, limits, hostname)
  const waits = async () => {
    const { rows } = await db.pool.query<{ minutes: number }>(
      `select round(extract(epoch from postponed_until - now()) / 60)::int as minutes from certificates
      where hostname = any($1) and chain_pem is null order by array_position($1::text[], hostname)`,
      [names],
    )
    return rows.map(({ minutes }) => minutes)
  }
  expect(await waits()).toEqual([140, 150, 160, 170, 320, 330, 340, 350, 500, 510])
  const first = await live(directory, limits, 141)
  expect(first).toEqual({ orders: [names[0]], refused: 0 })
  const newcomer = await claim(db, project, freshHostname(domain))
  await db.pool.query(`update certificates set postponed_until = now(), next_attempt_at = now() where hostname = $1`, [names[1]])
  await age(directory, '10 minutes')
  expect(await orders(directory, limits, newcomer)).toBe(false) // the room is of whoever has been called
  expect(await orders(directory, limits, names[1]!)).toBe(true)
})

test('who is removed leaves the line, and so does who is called and no longer wanted', async () => {
  const [directory, domain] = [freshDirectory(), freshDomain()]
  const project = await addProject(db)
  const limits = only('domain', 1)
  expect(await takeAs('issued', { directory, hostname: freshHostname(domain), limits })).toBe('taken')
  const names = await Promise.all(Array.from({ length: 3 }, () => claim(db, project, freshHostname(domain))))
  for (const hostname of names) await orders(directory, limits, hostname)
  const inLine = async () =>
    (
      await db.pool.query(`select hostname from certificates where hostname = any($1) and waits_for is not null order by waits_since`, [
        names,
      ])
    ).rows
  expect(await inLine()).toHaveLength(3)
  await removeDomain(db, project, names[0]!)
  expect(await inLine()).toEqual([{ hostname: names[1] }, { hostname: names[2] }])
  await db.pool.query(`update certificates set postponed_until = now(), next_attempt_at = now() where hostname = $1`, [names[1]])
  expect(await claimDueRenewals(db, 1_000)).not.toContain(names[1]) // it never was verified
  expect(await inLine()).toEqual([{ hostname: names[2] }])
  await claim(db, project, names[0]!)
  expect(await orders(directory, limits, names[0]!)).toBe(false)
  expect(await inLine()).toEqual([{ hostname: names[2] }, { hostname: names[0] }])
})

test('whose worker dies at its turn, with its order sent, has waited since as before; not so who fails, or is removed', async () => {
  const [directory, domain] = [freshDirectory(), freshDomain()]
  const project = await addProject(db)
  const limits = only('domain', 1)
  expect(await takeAs('issued', { directory, hostname: freshHostname(domain), limits })).toBe('taken')
  const names = await Promise.all(Array.from({ length: 3 }, () => claim(db, project, freshHostname(domain))))
  const [first, second, third] = names as [Hostname, Hostname, Hostname]
  const begin = (hostname: Hostname) => beginIssuance(db, hostname, { directories: [directory], limits })
  const makeDue = (hostname: Hostname) =>
    db.pool.query(
      `update certificates set postponed_until = least(postponed_until, now()), lease_until = least(lease_until, now()), next_attempt_at = now()
      where hostname = $1`,
      [hostname],
    )
  const sendAtItsTurn = async (hostname: Hostname) => {
    await age(directory, '4 hours')
    await makeDue(hostname)
    const begun = await begin(hostname)
    expect(begun.kind === 'go' && (await markSent(db, begun.orderId))).toBe(true)
  }
  const inLine = async () => {
    const { rows } = await db.pool.query<{ hostname: Hostname }>(
      'select hostname from certificates where hostname = any($1) and waits_for is not null order by waits_since',
      [names],
    )
    return rows.map(({ hostname }) => hostname)
  }
  const asksAgain = async (hostname: Hostname) => {
    await makeDue(hostname)
    expect(await begin(hostname)).toMatchObject({ kind: 'no', postponed: true })
    return inLine()
  }
  for (const hostname of names) await begin(hostname)
  await sendAtItsTurn(first)
  expect(await inLine()).toEqual([second, third])
  expect(await asksAgain(first)).toEqual([first, second, third])
  await sendAtItsTurn(first)
  await recordIssuanceFailure(db, first, { problem: { type: 'x' }, sentence: 'No.' })
  expect(await asksAgain(first)).toEqual([second, third, first])
  await sendAtItsTurn(second)
  await removeDomain(db, project, second)
  await claim(db, project, second)
  expect(await asksAgain(second)).toEqual([third, first, second])
})

test('a hostname whose first authority is full, and whose CAA records forbid the next, waits for the first in its place', async () => {
  const [first, second, domain] = [freshDirectory(), freshDirectory(), freshDomain()]
  const project = await addProject(db)
  const limits = only('domain', 1)
  expect(await takeAs('issued', { directory: first, hostname: freshHostname(domain), limits })).toBe('taken')
  const [hostname, behind] = [await claim(db, project, freshHostname(domain)), await claim(db, project, freshHostname(domain))]
  const problem = { type: CAA_PROBLEM }
  const isForbidden = async () => {
    const begun = await beginIssuance(db, hostname, { directories: [first, second], limits })
    if (begun.kind === 'no' || begun.directory !== second) throw new Error(JSON.stringify(begun))
    await settleOrder(db, begun.orderId, 'not-sent')
    await recordIssuanceFailure(db, hostname, { problem, sentence: 'CAA forbids it.', awaitsRoom: true }, begun)
  }
  const call = (...names: Hostname[]) =>
    db.pool.query('update certificates set postponed_until = now(), next_attempt_at = now() where hostname = any($1)', [names])
  await isForbidden()
  const { certificate } = await findDomain(db, project, hostname, CLAIM_RULES)
  expect(certificate).toMatchObject({ lastError: { problem }, nextIssuanceReason: expect.stringContaining('when there is room') })
  expect(certificate.nextIssuanceAt).toBe(certificate.nextAttemptAt)
  expect(await orders(first, limits, behind)).toBe(false)
  await call(hostname)
  await isForbidden()
  await age(first, '4 hours')
  await call(hostname, behind)
  expect(await orders(first, limits, behind)).toBe(false) // the room is of who came first
  expect(await beginIssuance(db, hostname, { directories: [first, second], limits })).toMatchObject({ kind: 'go', directory: first })
})

test.each([
  ['too many certificates (50) already issued for "DOMAIN" in the last 168h0m0s', 'domain'],
  ['too many certificates (5) already issued for this exact set of identifiers in the last 168h0m0s', 'names'],
  ['too many failed authorizations (5) for "HOST" in the last 1h0m0s', 'failures'],
  [
    'Your account is temporarily prevented from requesting certificates for HOST and possibly others. Please visit: https://ca.test/unpause',
    'failures',
  ],
  ['too many new orders (300) from this account in the last 3h0m0s', 'account'],
  ['Service busy; retry later.', 'account'],
])('after the directory says %j nothing that its limit covers is ordered until then', async (detail, scope) => {
  const [directory, domain] = [freshDirectory(), freshDomain()]
  const [hostname, sibling, stranger] = [freshHostname(domain), freshHostname(domain), freshHostname(freshDomain())]
  await recordRateLimit(db, { directory, hostname, detail, retryAfterS: 1_800 })
  await recordRateLimit(db, { directory, hostname, detail, retryAfterS: 60 }) // an earlier answer that arrives late
  const held = await take({ directory, hostname, renewing: true })
  expect(held).toMatchObject({ kind: 'no-room', sentence: expect.stringContaining(detail) })
  expect(held.kind === 'no-room' && Math.abs(held.until.getTime() - Date.now() - 1_800_000)).toBeLessThan(60_000)
  expect((await take({ directory, hostname: sibling })).kind).toBe(['domain', 'account'].includes(scope) ? 'no-room' : 'taken')
  expect((await take({ directory, hostname: stranger })).kind).toBe(scope === 'account' ? 'no-room' : 'taken')
  expect((await take({ directory: freshDirectory(), hostname })).kind).toBe('taken')
})

test('when the first directory has no room the next one is begun with', async () => {
  const directories = [freshDirectory(), freshDirectory()] as const
  const hostname: Hostname = await claim(db, await addProject(db))
  await recordRateLimit(db, { directory: directories[0], hostname, detail: 'too many new orders', retryAfterS: 7_200 })
  expect(await beginIssuance(db, hostname, { directories })).toMatchObject({ kind: 'go', directory: directories[1] })
  expect([await ordersOf(directories[0]), await ordersOf(directories[1])]).toEqual([0, 1])
  const other = await claim(db, await addProject(db))
  await recordRateLimit(db, { directory: directories[1], hostname, detail: 'too many new orders', retryAfterS: 3_600 })
  expect(await beginIssuance(db, other, { directories })).toMatchObject({
    kind: 'no',
    reason: expect.stringContaining(new URL(directories[1]).host),
  })
})

test('what no limit counts any more is deleted', async () => {
  const directory = freshDirectory()
  await times(3, () => takeAs('issued', { directory }))
  await age(directory, '8 days')
  await takeAs('issued', { directory })
  expect(await pruneBudget(db)).toBeGreaterThanOrEqual(3)
  expect(await ordersOf(directory)).toBe(1)
})

test('an operator who asks for a certificate that waits for room is told until when and why, and it keeps its turn', async () => {
  const directory = freshDirectory()
  const hostname = await claim(db, await addProject(db))
  await recordRateLimit(db, { directory, hostname, detail: 'too many new orders', retryAfterS: 600 })
  await beginIssuance(db, hostname, { directories: [directory] })
  const turn = async () =>
    (await db.pool.query('select next_attempt_at, postponed_until from certificates where hostname = $1', [hostname])).rows
  const before = await turn()
  const until = before[0].postponed_until.toISOString()
  expect(await requestRenewal(db, hostname)).toEqual({
    kind: 'refused',
    reason: expect.stringMatching(new RegExp(`^it waits for room until ${until}\\. .*too many new orders`)),
  })
  expect(await turn()).toEqual(before)
})
