import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { type Authority, type ChallengeSolver, HTTP_01, type IssuedCertificate, IssueError } from '../certs/authority.ts'
import { beginIssuance } from '../core/certificates.ts'
import { createLog } from '../log.ts'
import type { CaaRecords } from '../probe/caa.ts'
import { orderFrom } from './authorities.ts'
import { createAuthorityHealth, INSISTING_EVERY_MS } from './authority-health.ts'
import type { OrderTerms } from './authority-order.ts'
import { isResumable, type OrdersRefused, summarise } from './fallover.ts'
import { createIssuanceLedger } from './issuance-ledger.ts'

const FIRST = 'https://first.example.com/directory'
const SECOND = 'https://second.example.com/directory'
const LIMITS = [{ scope: 'account' as const, max: 100, windowS: 3_600 }]
const TLS_ALPN_01: ChallengeSolver = { ...HTTP_01, type: 'tls-alpn-01' }
const CERTIFICATE: IssuedCertificate = {
  ...{ chainPem: 'chain', keyPem: 'key', issuer: 'CN=Test', serial: '01' },
  ...{ notBefore: new Date(0), notAfter: new Date(1) },
}

let database: TestDatabase
const log = createLog('test', 'fatal')
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(() => database.db.pool.query('delete from issuance_orders; delete from issuance_blocks'))

type Answer = string | undefined
type Fake = Authority & { asked: string[]; answer: (solver: string) => Answer }

/** Delivers, or refuses with the kind that it is told: ACME's errors by name, our own after `own:`. */
function fake(name: string, answer: Fake['answer'] = () => undefined, caa: string[] = [`${new URL(name).host}`]): Fake {
  const authority: Fake = {
    ...{ name, thumbprint: null, asked: [], answer },
    renewalInfo: async () => ({ kind: 'none' }),
    caaIdentities: async () => caa,
    async issue(_hostname, { solver, onOrder }) {
      authority.asked.push(solver!.type)
      await onOrder?.()
      const kind = authority.answer(solver!.type)
      if (kind === undefined) return CERTIFICATE
      const type = kind.startsWith('own:') ? `urn:namesake:error:${kind.slice(4)}` : `urn:ietf:params:acme:error:${kind}`
      throw new IssueError(`${name} says ${kind}`, { type, detail: `${name} says ${kind}` })
    },
  }
  return authority
}

async function attempt(authorities: Authority[], terms: Partial<OrderTerms> = {}, limits = LIMITS) {
  const hostname = await claim(database.db, await addProject(database.db))
  const permission = await beginIssuance(database.db, hostname, { directories: authorities.map(({ name }) => name), limits })
  if (permission.kind === 'no') throw new Error(permission.reason)
  const ledger = createIssuanceLedger(database.db, log)
  return orderFrom(authorities, hostname, { permission, ledger, ...terms }).catch((error: unknown) => error as OrdersRefused)
}

async function entries(): Promise<string[]> {
  const { rows } = await database.db.pool.query<{ entry: string }>(
    `select directory || ' ' || outcome as entry from issuance_orders order by id`,
  )
  return rows.map(({ entry }) => entry)
}

test.for<[string, boolean]>([
  ...['serverInternal', 'rateLimited', 'caa', 'rejectedIdentifier', 'unsupportedIdentifier', 'badCSR', 'badPublicKey'].map(
    (kind) => [kind, true] as [string, boolean],
  ),
  ...['userActionRequired', 'externalAccountRequired', 'invalidProfile', 'badNonce'].map((kind) => [kind, true] as [string, boolean]),
  ...['own:connectionFailed', 'own:timeout', 'own:malformedAnswer', 'own:certificateMismatch', 'own:validationPending'].map(
    (kind) => [kind, true] as [string, boolean],
  ),
  ...['unauthorized', 'connection', 'dns', 'tls', 'incorrectResponse', 'own:aborted'].map((kind) => [kind, false] as [string, boolean]),
])('after %s another authority is asked: %s', async ([kind, another]) => {
  const [first, second] = [fake(FIRST, () => kind), fake(SECOND)]
  const result = await attempt([first, second])
  expect(second.asked.length).toBe(another ? 1 : 0)
  if (another) expect(result).toMatchObject({ directory: SECOND })
})

test('when nobody delivers, the failure holds the most useful problem in full and everybody in their own words', async () => {
  const result = await attempt([fake(FIRST, () => 'rejectedIdentifier'), fake(SECOND, () => 'serverInternal')])
  expect(result).toMatchObject({
    message: expect.stringMatching(/first.*rejectedIdentifier.*second.*serverInternal/),
    problem: { type: expect.stringContaining('rejectedIdentifier'), attempts: [{ directory: FIRST }, { directory: SECOND }] },
  })
})

test('a validation that fails is tried once in another way, in an order with room of its own', async () => {
  const first = fake(FIRST, (solver) => (solver === 'http-01' ? 'connection' : undefined))
  expect(await attempt([first], { solvers: [HTTP_01, TLS_ALPN_01] })).toMatchObject({ directory: FIRST })
  expect(first.asked).toEqual(['http-01', 'tls-alpn-01'])
  expect(await entries()).toEqual([`${FIRST} invalid`, `${FIRST} issued`])
})

test('it is tried in two ways at most', async () => {
  const first = fake(FIRST, () => 'unauthorized')
  await attempt([first], { solvers: [HTTP_01, TLS_ALPN_01, { ...HTTP_01, type: 'dns-01' }] })
  expect(first.asked).toEqual(['http-01', 'tls-alpn-01'])
})

test('a refusal that is no failed validation is not tried in another way', async () => {
  const first = fake(FIRST, () => 'rejectedIdentifier')
  await attempt([first], { solvers: [HTTP_01, TLS_ALPN_01] })
  expect(first.asked).toEqual(['http-01'])
})

const records = (...values: string[]): { caaOf(): Promise<CaaRecords> } => ({
  caaOf: async () => ({
    kind: 'records',
    records: values.map((value) => ({
      ...{ name: 'customer.test', type: 'CAA', ttl: 60, value: value },
      caa: { critical: false, tag: 'issue' },
    })),
  }),
})

test('an authority that the CAA records forbid is not asked and costs nothing; the next one is', async () => {
  const [first, second] = [fake(FIRST), fake(SECOND)]
  expect(await attempt([first, second], records('second.example.com'))).toMatchObject({ directory: SECOND })
  expect(first.asked).toEqual([])
  expect(await entries()).toEqual([`${SECOND} issued`])
})

test('when CAA forbids all of them, the failure names the record, where it stands and what to add', async () => {
  const authorities = [fake(FIRST), fake(SECOND)]
  const result = await attempt(authorities, records('other.example'))
  expect(result).toMatchObject({ problem: { type: 'urn:namesake:error:caa' }, awaitsRoom: false })
  expect((result as OrdersRefused).message).toMatch(
    /The CAA record of customer\.test \(0 issue "other\.example"\) does not let first\.example\.com .* value 0 issue "first\.example\.com" at customer\.test/,
  )
  expect(authorities.flatMap(({ asked }) => asked)).toEqual([])
  expect(await entries()).toEqual([])
})

test('where the preferred authority is merely full, and CAA forbids the next, the failure says so of both', async () => {
  const authorities = [fake(FIRST), fake(SECOND)]
  const limits = [{ scope: 'account' as const, max: 5, windowS: 3_600 }]
  for (let n = 0; n < 4; n++) await attempt([authorities[0]!], {}, limits)
  const result = await attempt(authorities, records('first.example.com'), limits)
  expect(result).toMatchObject({ problem: { type: 'urn:namesake:error:caa' }, awaitsRoom: true })
  expect((result as OrdersRefused).message).toMatch(
    /does not let second\.example\.com .* – also: first\.example\.com allows 5 orders in an hour/,
  )
})

test('a CAA look-up that fails blocks nothing, and neither does a directory that states no names', async () => {
  expect(await attempt([fake(FIRST)], { caaOf: async () => ({ kind: 'unknown' }) })).toMatchObject({ directory: FIRST })
  const silent = { ...fake(FIRST), caaIdentities: async () => undefined }
  expect(await attempt([silent], records('other.example'))).toMatchObject({ directory: FIRST })
})

test('only the challenges that CAA allows are tried', async () => {
  const first = fake(FIRST)
  const only = records('first.example.com; validationmethods=tls-alpn-01')
  await attempt([first], { ...only, solvers: [HTTP_01, TLS_ALPN_01] })
  expect(first.asked).toEqual(['tls-alpn-01'])
  const result = await attempt([first], { ...only, solvers: [HTTP_01] })
  expect((result as OrdersRefused).message).toContain('by tls-alpn-01 alone')
})

test('an authority in an outage is passed over after three orders, and is the first choice again when it heals', async () => {
  const clock = { ms: 0 }
  const health = createAuthorityHealth({ log, nowMs: () => clock.ms })
  const [first, second] = [fake(FIRST, () => 'serverInternal'), fake(SECOND)]
  for (let n = 0; n < 5; n++) expect(await attempt([first, second], { health })).toMatchObject({ directory: SECOND })
  expect(first.asked).toHaveLength(3)
  clock.ms += 60_000
  first.answer = () => undefined
  expect(await attempt([first, second], { health })).toMatchObject({ directory: FIRST })
  expect(await attempt([first, second], { health })).toMatchObject({ directory: FIRST })
  expect((await entries()).filter((entry) => entry.startsWith(SECOND))).toHaveLength(5)
})

test('when all are out, one order at a time tries the first, and no attempt counts', async () => {
  const clock = { ms: 0 }
  const health = createAuthorityHealth({ log, nowMs: () => clock.ms })
  const authorities = [fake(FIRST, () => 'serverInternal'), fake(SECOND, () => 'own:connectionFailed')]
  for (let n = 0; n < 3; n++) await attempt(authorities, { health })
  clock.ms += INSISTING_EVERY_MS
  const before = authorities.map(({ asked }) => asked.length)
  const [one, two] = (await Promise.all([attempt(authorities, { health }), attempt(authorities, { health })])) as [
    OrdersRefused,
    OrdersRefused,
  ]
  expect(authorities.map(({ asked }, i) => asked.length - before[i]!)).toEqual([1, 0])
  for (const refused of [one, two]) {
    expect(refused).toMatchObject({ outage: true, retryAfterS: expect.any(Number) })
    expect(refused.retryAfterS).toBeLessThanOrEqual(60 * 2 + 300 + 1)
  }
})

test('hostnames on which an authority does not decide leave it the first choice of the others, and count their attempts', async () => {
  const health = createAuthorityHealth({ log })
  const first = fake(FIRST, () => 'own:validationPending')
  for (let n = 0; n < 5; n++) expect(await attempt([first], { health })).toMatchObject({ outage: false, retryAfterS: undefined })
  first.answer = () => undefined
  expect(await attempt([first, fake(SECOND)], { health })).toMatchObject({ directory: FIRST })
})

test('a page in an outage holds a hostname back for an hour at most, however long it asks; a limit as long as it says', () => {
  const wait = (...types: string[]) => {
    const refusals = types.map((type) => ({
      directory: FIRST,
      error: new IssueError('', { type }, { retryAfterS: 400_000 }),
      isDown: false,
    }))
    return summarise(refusals).retryAfterS
  }
  const [outage, limit] = ['urn:namesake:error:malformedAnswer', 'urn:ietf:params:acme:error:rateLimited']
  expect([wait(outage), wait('urn:ietf:params:acme:error:unauthorized'), wait(limit, outage)]).toEqual([3_600, 3_600, 3_600])
  expect(wait(limit)).toBe(400_000)
})

test('an order on which the authority does not decide is gone on with once', () => {
  const undecided = new IssueError('', { type: 'urn:namesake:error:validationPending' })
  expect([false, true].map((wasReopened) => isResumable(undecided, { wasReopened }))).toEqual([true, false])
})

test('a hostname that one authority fails on while it serves others counts its attempts', async () => {
  const health = createAuthorityHealth({ log })
  const first = fake(FIRST, () => 'serverInternal')
  expect(await attempt([first], { health })).toMatchObject({ outage: false })
})
