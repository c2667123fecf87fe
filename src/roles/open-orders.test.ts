import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type StubFault, type StubOptions, type StubStep, startAcmeStub } from '../../test/support/acme-stub.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { createAcmeAuthority } from '../certs/acme-authority.ts'
import { type ChallengeSolver, HTTP_01 } from '../certs/authority.ts'
import { generateAccountKey } from '../certs/keys.ts'
import { ownFault } from '../certs/problem.ts'
import { readConfig } from '../config.ts'
import { beginIssuance, type IssuancePermission } from '../core/certificates.ts'
import { takeFallbackBudget } from '../core/issuance-budget.ts'
import { ServiceError } from '../errors.ts'
import { createLog } from '../log.ts'
import { orderFrom } from './authorities.ts'
import { certificateKeys } from './certificate-keys.ts'
import { OrdersRefused } from './fallover.ts'
import { createIssuanceLedger, type IssuanceLedger } from './issuance-ledger.ts'
import { createKeptOrders } from './kept-orders.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const TLS_ALPN_01: ChallengeSolver = { ...HTTP_01, type: 'tls-alpn-01' }
const LIMITS = [{ scope: 'account' as const, max: 10, windowS: 3_600 }]

/** As the ledger does, for a directory of which no limits are known. */
const takeWithinLimits: IssuanceLedger['take'] = async (directory, hostname, { projectId, asRenewal: renewing }) => {
  const answer = await takeFallbackBudget(database.db, { directory, hostname, projectId, renewing, limits: LIMITS })
  return answer.kind === 'taken' ? answer : undefined
}

/** A hostname whose attempts go to a stub, and then to others, each as if the worker before it had died. */
async function setUp(options: StubOptions = {}, othersCount = 0) {
  const { db } = database
  await db.pool.query('delete from issuance_orders; delete from orders_under_way')
  const stub = await startAcmeStub(options)
  const others = await Promise.all(Array.from({ length: othersCount }, () => startAcmeStub()))
  onTestFinished(async () => void (await Promise.all([stub, ...others].map((one) => one.stop()))))
  const accountKeyPem = await generateAccountKey()
  const log = createLog('test', 'fatal')
  const { config } = readConfig(
    { NAMESAKE_SECRET: 'a secret of the test that is long enough', NAMESAKE_DATABASE_URL: database.url },
    tmpdir(),
  )
  const ledger = { ...createIssuanceLedger(db, log), take: takeWithinLimits }
  const hostname = await claim(db, await addProject(db))
  async function begin() {
    await db.pool.query('update certificates set lease_until = null, next_attempt_at = null')
    const directories = [stub, ...others].map(({ directoryUrl }) => directoryUrl)
    const permission = await beginIssuance(db, hostname, { directories, limits: LIMITS })
    if (permission.kind === 'no') throw new Error(permission.reason)
    return permission
  }
  async function attempt(solvers: readonly ChallengeSolver[] = [HTTP_01], begun?: IssuancePermission) {
    const permission = begun ?? (await begin())
    const kept = createKeptOrders(db, certificateKeys(config), log)
    const authorities = [stub, ...others].map(({ directoryUrl, caFile }) => createAcmeAuthority({ directoryUrl, caFile, accountKeyPem }))
    const result = orderFrom(authorities, hostname, { permission, ledger, kept, solvers })
    return result.catch((error: unknown) => error as OrdersRefused)
  }
  const read = async (query: string) => (await db.pool.query<{ value: string }>(query)).rows.map(({ value }) => value)
  return {
    ...{ stub, others, begin, attempt, hostname },
    outcomes: () => read('select outcome as value from issuance_orders order by id'),
    open: () => read('select order_url as value from orders_under_way'),
  }
}

test.for<StubStep>(['authorization', 'challenge', 'order', 'finalize', 'certificate'])(
  'after an outage at the step %s the same order is brought to its end, and counts once',
  async (step) => {
    const { stub, attempt, outcomes, open } = await setUp()
    stub.fail(step, { kind: 'outage' })
    expect(await attempt()).toBeInstanceOf(OrdersRefused)
    expect([await outcomes(), (await open()).length]).toEqual([['under-way'], 1])
    stub.heal()
    expect(await attempt()).toMatchObject({ chainPem: expect.stringContaining('BEGIN CERTIFICATE') })
    expect(stub.orders).toHaveLength(1)
    expect(await outcomes()).toEqual(['issued'])
  },
)

test('an order behind a gateway that answers in the place of the authority, in words of its own, stays open until that is back', async () => {
  const { stub, attempt, outcomes } = await setUp()
  const text = JSON.stringify({ type: 'https://example.net/problems/maintenance', status: 503 })
  stub.fail('finalize', { kind: 'malformed', text, status: 503 })
  expect(await attempt()).toMatchObject({ problem: { type: 'urn:namesake:error:malformedAnswer', status: 503 } })
  stub.heal()
  stub.fail('order', { kind: 'malformed', text, status: 503 })
  await attempt()
  stub.heal()
  expect(await attempt()).toHaveProperty('keyPem')
  expect(stub.orders).toHaveLength(1)
  expect(await outcomes()).toEqual(['issued'])
})

test('an outage before the order leaves nothing open', async () => {
  const { stub, attempt, open } = await setUp()
  stub.fail('new-order', { kind: 'outage' })
  expect(await attempt()).toBeInstanceOf(OrdersRefused)
  expect(await open()).toEqual([])
})

test('a worker that froze before its order was sent sends nothing once another has its room, and one that died there costs none', async () => {
  const { stub, begin, attempt, outcomes } = await setUp()
  const [frozen, later] = [await begin(), await begin()]
  expect(await attempt([HTTP_01], frozen)).toMatchObject({ problem: { type: 'urn:namesake:error:overtaken' } })
  expect(stub.orders).toEqual([])
  expect(await attempt([HTTP_01], later)).toHaveProperty('keyPem')
  expect(await outcomes()).toEqual(['issued'])
})

test('an order that is still processed when its worker dies is waited for by the next', async () => {
  const { stub, attempt } = await setUp({ processingLooks: 3 })
  stub.fail('order', { kind: 'outage' })
  await attempt()
  stub.heal()
  expect(await attempt()).toHaveProperty('keyPem')
  expect(stub.orders).toHaveLength(1)
})

test('what the authority no longer knows is forgotten, and a new order takes room of its own; it may have had its certificate', async () => {
  const { stub, attempt, outcomes } = await setUp()
  stub.fail('finalize', { kind: 'outage' })
  await attempt()
  stub.heal()
  stub.fail('order', { kind: 'problem', name: 'malformed', status: 404, detail: 'no such order' }, 1)
  expect(await attempt()).toHaveProperty('keyPem')
  expect(stub.orders).toHaveLength(2)
  expect(await outcomes()).toEqual(['under-way', 'issued'])
})

test('an order that the authority has ended by a fault of its own is made anew by the next attempt', async () => {
  const { stub, attempt, outcomes } = await setUp()
  stub.fail('finalize', { kind: 'order-failed', name: 'serverInternal' }, 1)
  expect(await attempt()).toBeInstanceOf(OrdersRefused)
  expect(await attempt()).toHaveProperty('keyPem')
  expect(stub.orders).toHaveLength(2)
  expect(await outcomes()).toEqual(['refused', 'issued'])
})

test('a worker that dies when its order has been refused and settled, and not yet forgotten, costs the next attempt nothing', async () => {
  const { db } = database
  const { stub, attempt, outcomes } = await setUp()
  stub.fail('finalize', { kind: 'outage' }, 1)
  await attempt()
  await db.pool.query('create table left_by_the_dead as select * from orders_under_way')
  onTestFinished(async () => void (await db.pool.query('drop table left_by_the_dead')))
  stub.fail('finalize', { kind: 'order-failed', name: 'unauthorized' }, 1)
  await attempt()
  await db.pool.query('insert into orders_under_way select * from left_by_the_dead')
  expect(await outcomes()).toEqual(['invalid'])
  expect(await attempt()).toHaveProperty('keyPem')
  expect(stub.orders).toHaveLength(2)
  expect(await outcomes()).toEqual(['invalid', 'issued'])
})

test('an order that may have been finalised counts as a certificate also once another authority has delivered; one that was not does not', async () => {
  for (const [step, outcome] of [
    ['finalize', 'under-way'],
    ['challenge', 'refused'],
  ] as const) {
    const { stub, others, attempt, outcomes } = await setUp({}, 1)
    stub.fail(step, { kind: 'outage' })
    expect(await attempt()).toMatchObject({ directory: others[0]!.directoryUrl })
    expect(await outcomes()).toEqual([outcome, 'issued'])
  }
})

test('an order that is gone on with counts from then on', async () => {
  const { stub, attempt } = await setUp()
  const countedAt = async () =>
    (await database.db.pool.query("select counted_at > now() as later from issuance_orders where outcome = 'under-way'")).rows
  stub.fail('finalize', { kind: 'outage' })
  await attempt()
  await database.db.pool.query("update issuance_orders set counted_at = counted_at - interval '1 day'")
  expect(await countedAt()).toEqual([{ later: false }])
  await attempt()
  expect(await countedAt()).toEqual([{ later: true }])
})

test('an order is kept through a failure of the database in the middle of its challenge', async () => {
  const { stub, attempt, outcomes } = await setUp()
  const unshown: ChallengeSolver = {
    ...HTTP_01,
    async present() {
      throw new ServiceError('database_unavailable', 'it is away')
    },
  }
  expect(await attempt([unshown])).toMatchObject({ code: 'database_unavailable' })
  expect(await attempt()).toHaveProperty('keyPem')
  expect(stub.orders).toHaveLength(1)
  expect(await outcomes()).toEqual(['issued'])
})

test('while the authority does not even show the order, it stays open', async () => {
  const { stub, attempt, open } = await setUp()
  stub.fail('finalize', { kind: 'outage' })
  await attempt()
  stub.fail('order', { kind: 'problem', name: 'serverInternal', status: 503 })
  await attempt()
  await attempt()
  expect(await open()).toHaveLength(1)
  stub.heal()
  expect(await attempt()).toHaveProperty('keyPem')
  expect(stub.orders).toHaveLength(1)
})

test.for<[string, StubStep]>([
  ['badCSR', 'finalize'],
  ['caa', 'finalize'],
  ['rejectedIdentifier', 'new-order'],
  ['caa', 'new-order'],
  ['unauthorized', 'finalize'],
])('%s at the step %s ends the order for good, in the words of the authority', async ([name, step]) => {
  const { stub, attempt, open } = await setUp()
  stub.fail(step, { kind: 'problem', name, status: 403, detail: 'in its own words' })
  expect(await attempt()).toMatchObject({ problem: { type: `urn:ietf:params:acme:error:${name}`, detail: 'in its own words' } })
  expect(await open()).toEqual([])
})

test.for<[StubStep, string, number]>([
  ['certificate', 'malformed', 404],
  ['order', 'malformed', 404],
  ['finalize', 'orderNotReady', 403],
])('what the authority does not find for a moment, asked at the step %s (%s), costs no certificate', async ([step, name, status]) => {
  const { stub, attempt, outcomes } = await setUp()
  stub.fail(step, { kind: 'problem', name, status, detail: 'not found' }, 1)
  expect(await attempt()).toHaveProperty('keyPem')
  expect(await outcomes()).toEqual(['issued'])
})

const NOT_FOUND = { kind: 'problem', name: 'malformed', status: 404, detail: 'Certificate not found' } as const

test('a certificate that is not found for longer is fetched by the next attempt', async () => {
  const { stub, attempt, outcomes, open } = await setUp()
  stub.fail('certificate', NOT_FOUND)
  const problem = { type: 'urn:namesake:error:certificateNotShown', detail: expect.stringContaining('Certificate not found') }
  expect(await attempt()).toMatchObject({ problem })
  expect([await outcomes(), (await open()).length]).toEqual([['under-way'], 1])
  stub.heal()
  expect(await attempt()).toHaveProperty('keyPem')
  expect(stub.orders).toHaveLength(1)
  expect(await outcomes()).toEqual(['issued'])
})

test.for<[string, StubFault]>([
  ['unauthorized', { kind: 'problem', name: 'unauthorized', status: 403, detail: 'not yours' }],
  ['malformed', { kind: 'problem', name: 'malformed', status: 400, detail: 'no such format' }],
  ['a page of something in front of it', { kind: 'malformed', text: 'Gone', status: 410 }],
])(
  'a certificate that the authority does not hand out (%s) is fetched by the next attempt, with the key that it is for',
  async ([, fault]) => {
    const { stub, attempt, outcomes, open } = await setUp({ challenges: ['http-01', 'tls-alpn-01'] })
    stub.fail('certificate', fault)
    expect(await attempt([HTTP_01, TLS_ALPN_01])).toMatchObject({ problem: { type: 'urn:namesake:error:certificateNotShown' } })
    expect([await outcomes(), (await open()).length]).toEqual([['under-way'], 1])
    stub.heal()
    expect(await attempt()).toHaveProperty('keyPem')
    expect(stub.orders).toHaveLength(1)
    expect(await outcomes()).toEqual(['issued'])
  },
)

const PAGE = { kind: 'malformed', text: '<h1>Forbidden</h1>', status: 403 } as const
const TOO_MANY = { kind: 'malformed', text: '<h1>Too Many Requests</h1>', status: 429 } as const

test.for<[string, StubFault, string]>([
  ['unauthorized', { kind: 'problem', name: 'unauthorized', status: 403, detail: 'not yours' }, 'certificateNotShown'],
  ['malformed', { kind: 'problem', name: 'malformed', status: 400, detail: 'no such page' }, 'certificateNotShown'],
  ['a page of something in front of it', PAGE, 'certificateNotShown'],
  ['too many requests, without a problem document', TOO_MANY, 'malformedAnswer'],
])(
  'an order that the authority does not show while it processes it (%s) is waited for by the next attempt, and is no second order',
  async ([, fault, kind]) => {
    const { stub, attempt, outcomes, open } = await setUp({ processingLooks: 1, challenges: ['http-01', 'tls-alpn-01'] })
    const finalized = stub.hold('finalize', 'answered')
    const first = attempt([HTTP_01, TLS_ALPN_01])
    await finalized.reached
    stub.fail('order', fault)
    finalized.release()
    expect(await first).toMatchObject({ problem: { type: `urn:namesake:error:${kind}` } })
    expect([await outcomes(), (await open()).length]).toEqual([['under-way'], 1])
    stub.heal()
    expect(await attempt()).toHaveProperty('keyPem')
    expect(stub.orders).toHaveLength(1)
    expect(await outcomes()).toEqual(['issued'])
  },
)

test.for<[StubStep, string, StubFault]>([
  ['directory', 'a page of something in front of it', PAGE],
  ['nonce', 'too many requests', TOO_MANY],
  ['order', 'a page of something in front of it', PAGE],
  ['order', 'too many requests', TOO_MANY],
])('an open order is kept while the step %s is answered by %s, however often it is tried', async ([step, , fault]) => {
  const { stub, attempt, outcomes } = await setUp()
  stub.fail('finalize', { kind: 'outage' })
  await attempt()
  stub.heal()
  stub.fail(step, fault)
  for (let n = 0; n < 3; n++) await attempt()
  stub.heal()
  expect(await attempt()).toHaveProperty('keyPem')
  expect(stub.orders).toHaveLength(1)
  expect(await outcomes()).toEqual(['issued'])
})

test('an order that the authority calls invalid is over at once, though its error is one of those', async () => {
  const { stub, attempt, outcomes, open } = await setUp()
  stub.fail('finalize', { kind: 'order-failed', name: 'unauthorized' })
  expect(await attempt()).toMatchObject({ problem: { type: 'urn:ietf:params:acme:error:unauthorized' } })
  expect([await outcomes(), await open()]).toEqual([['invalid'], []])
})

test('one that the next attempt does not find either is ordered anew, and goes on counting as a certificate', async () => {
  const { stub, attempt, outcomes, open } = await setUp()
  stub.fail('finalize', { kind: 'outage' })
  await attempt()
  stub.heal()
  stub.fail('certificate', NOT_FOUND)
  await attempt()
  expect([await outcomes(), await open()]).toEqual([['under-way'], []])
})

test('a limit at finalisation leaves the order open until there is room', async () => {
  const { stub, attempt, open, outcomes } = await setUp()
  stub.fail('finalize', {
    kind: 'problem',
    name: 'rateLimited',
    status: 429,
    detail: 'too many certificates already issued',
    retryAfterS: 60,
  })
  expect(await attempt()).toMatchObject({ retryAfterS: 60 })
  expect(await open()).toHaveLength(1)
  stub.heal()
  expect(await attempt()).toHaveProperty('keyPem')
  expect(await outcomes()).toEqual(['issued'])
})

test('an order whose key cannot be opened any more is made anew, in room of its own', async () => {
  const { stub, attempt, outcomes } = await setUp()
  stub.fail('finalize', { kind: 'outage' })
  await attempt()
  await database.db.pool.query("update orders_under_way set sealed_key = 'torn'")
  stub.heal()
  expect(await attempt()).toHaveProperty('keyPem')
  expect(stub.orders).toHaveLength(2)
  expect(await outcomes()).toEqual(['under-way', 'issued'])
})

test('without room it is not made, and the attempt says so', async () => {
  const { attempt, stub } = await setUp()
  stub.fail('finalize', { kind: 'outage' })
  await attempt()
  await database.db.pool.query("update orders_under_way set sealed_key = 'torn'")
  await database.db.pool.query(`insert into issuance_orders (directory, hostname, registered_domain, renewal, exempt, counted_at)
    select directory, 'other.test', 'other.test', false, false, now() from issuance_orders, generate_series(1, 9)`)
  stub.heal()
  expect(await attempt()).toMatchObject({ problem: { type: 'urn:namesake:error:noRoom' } })
  expect(stub.orders).toHaveLength(1)
})

const ELSEWHERE: ChallengeSolver = {
  ...TLS_ALPN_01,
  async present() {
    throw ownFault('challengeNotAnswered', 'another server answers')
  },
}

test.for<[string, StubOptions, ChallengeSolver]>([
  ['is not offered', { challenges: ['http-01'] }, TLS_ALPN_01],
  ['would not be answered by us', { challenges: ['http-01', 'tls-alpn-01'] }, ELSEWHERE],
])('an order whose first challenge %s is proven by the other, and is no second order', async ([, options, solver]) => {
  const { stub, attempt, outcomes } = await setUp(options)
  expect(await attempt([solver, HTTP_01])).toHaveProperty('keyPem')
  expect(stub.orders).toHaveLength(1)
  expect(await outcomes()).toEqual(['issued'])
})

test('an order that a dead worker left is proven by the challenge that is offered, though another is tried first', async () => {
  const { stub, attempt, outcomes } = await setUp()
  stub.fail('authorization', { kind: 'outage' })
  await attempt([HTTP_01, TLS_ALPN_01])
  stub.heal()
  expect(await attempt([TLS_ALPN_01, HTTP_01])).toHaveProperty('keyPem')
  expect(stub.orders).toHaveLength(1)
  expect(await outcomes()).toEqual(['issued'])
})

test('an order none of whose challenges can be met waits for the next attempt, and counts once', async () => {
  const { stub, attempt, outcomes, open } = await setUp({ challenges: ['http-01', 'tls-alpn-01'] })
  for (let n = 0; n < 3; n++) {
    expect(await attempt([ELSEWHERE])).toMatchObject({ problem: { type: 'urn:namesake:error:challengeNotAnswered' } })
  }
  expect([await outcomes(), (await open()).length]).toEqual([['under-way'], 1])
  expect(await attempt([ELSEWHERE, HTTP_01])).toHaveProperty('keyPem')
  expect(stub.orders).toHaveLength(1)
  expect(await outcomes()).toEqual(['issued'])
})

test('an order that was left open at a fallback keeps nobody from the preferred authority, once that is well again', async () => {
  const { stub, others, attempt } = await setUp({}, 1)
  const [fallback] = others
  stub.fail('new-order', { kind: 'outage' })
  fallback!.fail('finalize', { kind: 'outage' })
  expect(await attempt()).toBeInstanceOf(OrdersRefused)
  stub.heal()
  for (const step of ['directory', 'nonce', 'account', 'order', 'finalize'] as const) fallback!.fail(step, { kind: 'outage' })
  expect(await attempt()).toMatchObject({ directory: stub.directoryUrl })
})

const DEACTIVATED = {
  kind: 'problem',
  name: 'unauthorized',
  status: 403,
  detail: 'Account is not valid, has status "deactivated"',
} as const

test.for<StubStep>(['account', 'new-order'])(
  'an account that is deactivated, as said at the step %s, has the next authority asked',
  async (step) => {
    const { stub, others, attempt, outcomes } = await setUp({}, 1)
    stub.fail(step, DEACTIVATED)
    expect(await attempt()).toMatchObject({ directory: others[0]!.directoryUrl })
    expect(await outcomes()).not.toContain('invalid')
  },
)

test('a refusal of our account by another name is the account’s too: it says nothing of the hostname, and no order was sent', async () => {
  const { stub, others, attempt, outcomes } = await setUp({}, 1)
  const detail = '[External Account Binding] The Key Identifier was not recognized'
  for (const one of [stub, ...others]) one.fail('account', { kind: 'problem', name: 'malformed', detail })
  expect(await attempt()).toMatchObject({ problem: { type: 'urn:namesake:error:accountUnusable', detail, status: 400 } })
  expect(stub.orders).toEqual([])
  expect(await outcomes()).not.toContain('invalid')
})

test('where there is no other authority, the refusal of our account is told as that, in full', async () => {
  const { stub, attempt, outcomes } = await setUp()
  stub.fail('new-order', DEACTIVATED)
  expect(await attempt()).toMatchObject({
    problem: { type: 'urn:namesake:error:accountUnusable', detail: DEACTIVATED.detail, status: 403 },
  })
  expect(await outcomes()).toEqual(['refused'])
})
