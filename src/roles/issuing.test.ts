import { tmpdir } from 'node:os'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type StubOptions, startAcmeStub } from '../../test/support/acme-stub.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { renewAt } from '../certs/certificate.ts'
import { certIdOf } from '../certs/renewal-info.ts'
import { readConfig } from '../config.ts'
import { claimDueRenewals } from '../core/certificates.ts'
import { removeDomain } from '../core/domains.ts'
import { type IssuanceLimit, limitsOf } from '../core/issuance-limits.ts'
import { requestOwnCertificates } from '../core/own-certificates.ts'
import { claimDueRenewalInfo, findHeldCertificate, type HeldCertificate } from '../core/renewals.ts'
import { parseHostname } from '../hostname.ts'
import { type IssueParts, issueCertificate } from '../jobs/issue.ts'
import { askAboutRenewals } from '../jobs/renewal-info.ts'
import { createIssuanceLedger } from './issuance-ledger.ts'
import { createIssuing } from './issuing.ts'
import { ensureOwnKeys } from './own-keys.ts'
import { createServiceProbe } from './service-probe.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const edge = parseHostname('edge.localhost')

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

type StubOptionsWithLimits = Omit<StubOptions, 'limits'> & { limits?: readonly IssuanceLimit[] }

/** An installation whose edge host has just got its certificate from the stub. Nothing but the roles' processes is missing. */
async function setUp({ limits = [], ...options }: StubOptionsWithLimits = {}) {
  const { db } = database
  await db.pool.query('delete from certificates')
  const stub = await startAcmeStub(options)
  const env = {
    NAMESAKE_ACME_DIRECTORY: stub.directoryUrl,
    NAMESAKE_ACME_CA_FILE: stub.caFile,
    NAMESAKE_SECRET: 'a secret of the test that is long enough',
    NAMESAKE_DATABASE_URL: database.url,
  }
  const { config } = readConfig(env, tmpdir())
  const probe = createServiceProbe(config)
  const lines: { level: number; msg: string }[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const issuing = createIssuing(config, await ensureOwnKeys(db, config), probe, createIssuanceLedger(db, log, { limits }))
  let nowMs = Date.now()
  const parts: IssueParts = { ...issuing, limits, db, log, announce: () => {}, count: () => {}, now: () => new Date(nowMs) }
  onTestFinished(async () => {
    probe.close()
    await stub.stop()
  })
  const issue = () => issueCertificate(parts, { hostname: edge })
  const held = async () => (await findHeldCertificate(db, edge))!
  await requestOwnCertificates(db, [edge])
  await issue()
  return {
    ...{ db, stub, issue, held, lines },
    ask: () => askAboutRenewals({ db, log, renewalTime: issuing.renewalTime }),
    set: (assignment: string) => db.pool.query(`update certificates set ${assignment}`),
    goTo(date: Date) {
      nowMs = date.getTime()
    },
    times: async () =>
      (await db.pool.query('select renew_at, next_attempt_at, ari_checked_at, ari_due_at from certificates where hostname = $1', [edge]))
        .rows[0],
  }
}

const windowFromNow = (startMs: number, endMs: number) => ({
  suggestedWindow: { start: new Date(Date.now() + startMs), end: new Date(Date.now() + endMs) },
})
const daysIn = ({ notBefore, renewAt }: HeldCertificate) => (renewAt.getTime() - notBefore.getTime()) / DAY_MS

test('a new certificate is renewed around two thirds of its lifetime, until its authority wishes otherwise', async () => {
  const window = windowFromNow(10 * DAY_MS, 12 * DAY_MS)
  const { held, ask, times } = await setUp({ renewalInfo: () => ({ headers: { 'retry-after': '7200' }, body: window }) })
  expect(Math.abs(daysIn(await held()) - 60)).toBeLessThanOrEqual(5)
  expect((await times()).ari_checked_at).toBeNull()
  await ask()
  const { renewAt } = await held()
  expect(renewAt.getTime()).toBeGreaterThanOrEqual(window.suggestedWindow.start.getTime())
  expect(renewAt.getTime()).toBeLessThanOrEqual(window.suggestedWindow.end.getTime())
  const { next_attempt_at, ari_checked_at, ari_due_at } = await times()
  expect(next_attempt_at).toEqual(renewAt)
  expect(ari_due_at.getTime() - ari_checked_at.getTime()).toBe(2 * HOUR_MS)
})

test('asking costs one question until it is due again', async () => {
  const { ask, stub, set } = await setUp()
  await ask()
  await ask()
  expect(stub.count('renewal-info')).toBe(1)
  await set('ari_due_at = now()')
  await ask()
  expect(stub.count('renewal-info')).toBe(2)
})

test('a window that has passed has the certificate renewed at once, naming the one that it replaces', async () => {
  const window = windowFromNow(-2 * DAY_MS, -DAY_MS)
  const { db, held, ask, issue, set, stub, lines } = await setUp({
    renewalInfo: () => ({ body: { ...window, explanationURL: 'https://authority.example/incident' } }),
  })
  const old = await held()
  await ask()
  expect(await claimDueRenewals(db, 10)).toEqual([]) // it has just been issued: orders would follow each other without end
  await set(`not_before = now() - interval '1 day', ari_due_at = now()`)
  await ask()
  expect(lines.at(-1)).toMatchObject({ explanationUrl: 'https://authority.example/incident' })
  expect(await claimDueRenewals(db, 10)).toEqual([edge])
  await issue()
  expect(stub.orders.map(({ replaces }) => replaces)).toEqual([undefined, certIdOf(old.chainPem)])
  expect((await held()).serial).not.toBe(old.serial)
})

/** As the authority's own limits are known for public directories alone, those of Let's Encrypt hold for the stub here. */
const limits = limitsOf('https://acme-v02.api.letsencrypt.org/directory')

async function entriesOf(directory: string): Promise<string[]> {
  const { rows } = await database.db.pool.query<{ entry: string }>(
    `select outcome || case when exempt then ' exempt' else '' end as entry from issuance_orders where directory = $1 order by id`,
    [directory],
  )
  return rows.map(({ entry }) => entry)
}

test('a renewal that the authority asked for is exempt from its limits once its window has begun, and not before', async () => {
  let window = windowFromNow(-2 * DAY_MS, DAY_MS)
  const { db, stub, issue, ask, set, held } = await setUp({ limits, renewalInfo: () => ({ body: window }) })
  for (let i = 0; i < 4; i += 1) {
    await set(`renew_at = now(), next_attempt_at = now()`)
    await issue()
  }
  const full = await held() // five certificates for these names in a week: nothing else would be let through
  await set(`renew_at = now(), next_attempt_at = now()`)
  await issue()
  expect((await held()).serial).toBe(full.serial)
  await set(`postponed_until = now(), next_attempt_at = now()`)
  await ask()
  await set(`renew_at = now(), next_attempt_at = now()`)
  expect(await claimDueRenewals(db, 10)).toEqual([edge])
  await issue()
  const renewed = await held()
  expect(renewed.serial).not.toBe(full.serial)
  expect(stub.orders.at(-1)!.replaces).toBe(certIdOf(full.chainPem))
  expect(await entriesOf(stub.directoryUrl)).toEqual([...Array.from({ length: 5 }, () => 'issued'), 'issued exempt'])
  window = windowFromNow(5 * DAY_MS, 6 * DAY_MS)
  await ask()
  await set(`renew_at = now(), next_attempt_at = now()`)
  await issue()
  expect((await held()).serial).toBe(renewed.serial)
})

test('an exempt order that the authority takes only without naming what it replaces needs ordinary room, else it is not sent', async () => {
  const { stub, issue, ask, set, held } = await setUp({ limits, renewalInfo: () => ({ body: windowFromNow(-2 * DAY_MS, DAY_MS) }) })
  const first = await held()
  await issueAgain()
  const refuse = async () => {
    await ask()
    await set(`chain_pem = '${first.chainPem}', directory = '${stub.directoryUrl}', renew_at = now(), next_attempt_at = now()`)
    await issue()
  }
  await refuse() // the first certificate has a successor, so the stub answers alreadyReplaced
  expect(stub.orders).toHaveLength(3)
  expect(await entriesOf(stub.directoryUrl)).toEqual(['issued', 'issued', 'issued'])
  await issueAgain()
  await issueAgain()
  await refuse()
  expect(stub.orders).toHaveLength(5)
  expect(await entriesOf(stub.directoryUrl)).toEqual(Array.from({ length: 5 }, () => 'issued'))
  const { rows } = await database.db.pool.query('select last_problem, last_sentence, wished_from from certificates')
  expect(rows[0]).toMatchObject({ last_problem: { type: 'urn:namesake:error:noRoom' }, wished_from: null })
  expect(rows[0].last_sentence).toMatch(/counts it as any other.*allows 5 certificates in 7 days/)

  async function issueAgain() {
    await set(`wished_from = null, renew_at = now(), next_attempt_at = now()`)
    await issue()
  }
})

test('a certificate of which it was not kept who issued it is asked about at the first authority, which then has it', async () => {
  const { ask, set, held, stub } = await setUp({
    renewalInfo: (known) => (known ? { body: windowFromNow(DAY_MS, 2 * DAY_MS) } : { status: 404 }),
  })
  await set('directory = null, ari_due_at = now()')
  await ask()
  expect((await held()).directory).toBe(stub.directoryUrl)
})

test('one that the first authority does not know is renewed at two thirds of its lifetime', async () => {
  const { ask, set, held, times } = await setUp({ renewalInfo: () => ({ status: 404, body: {} }) })
  await set('directory = null, ari_due_at = now(), renew_at = now()')
  await ask()
  const { directory, ...certificate } = await held()
  expect(directory).toBeNull()
  expect(certificate.renewAt).toEqual(renewAt(certificate))
  expect((await times()).next_attempt_at).toEqual(certificate.renewAt)
  expect((await times()).ari_due_at.getTime() - Date.now()).toBeGreaterThan(23 * HOUR_MS)
})

test('while the authority does not answer, our own rule holds, or an earlier wish', async () => {
  let startMs = 80 * DAY_MS
  const { held, ask, stub, set, times } = await setUp({
    lifetimeDays: 90,
    renewalInfo: () => ({ body: windowFromNow(startMs, startMs + HOUR_MS) }),
  })
  const own = (await held()).renewAt
  await ask()
  expect(daysIn(await held())).toBeCloseTo(75, 5)
  stub.fail('renewal-info', { kind: 'outage' })
  await set('ari_due_at = now()')
  await ask()
  expect((await held()).renewAt).toEqual(own)
  expect((await times()).ari_due_at.getTime() - Date.now()).toBeGreaterThan(HOUR_MS / 2)
  stub.heal()
  startMs = 20 * DAY_MS
  await set('ari_due_at = now()')
  await ask()
  const wished = (await held()).renewAt
  expect(wished.getTime()).toBeLessThan(own.getTime())
  stub.fail('renewal-info', { kind: 'malformed', text: '{}' })
  await set('ari_due_at = now()')
  await ask()
  expect((await held()).renewAt).toEqual(wished)
})

test('where the authority states no wishes, our own rule stays and asking waits for a day', async () => {
  const { held, ask, times } = await setUp({ renewalInfo: false, lifetimeDays: 6 })
  const own = (await held()).renewAt
  await ask()
  expect((await held()).renewAt).toEqual(own)
  expect((await times()).ari_due_at.getTime() - Date.now()).toBeGreaterThan(23 * HOUR_MS)
})

test('a wish does not hurry a renewal that waits after a failure', async () => {
  const { held, ask, issue, stub, set, times } = await setUp({ renewalInfo: () => ({ body: windowFromNow(-2 * DAY_MS, -DAY_MS) }) })
  const old = await held()
  await set(`renew_at = now(), next_attempt_at = now()`)
  stub.fail('finalize', { kind: 'outage' })
  await issue()
  const waitsUntil = (await times()).next_attempt_at
  expect(waitsUntil.getTime()).toBeGreaterThan(Date.now())
  await ask()
  expect((await times()).next_attempt_at).toEqual(waitsUntil)
  expect((await held()).serial).toBe(old.serial)
})

test('a failed renewal is news for a human when two thirds of its time are used up, and not before', async () => {
  const { held, issue, stub, set, lines, goTo } = await setUp()
  stub.fail('new-order', { kind: 'problem', name: 'serverInternal', status: 500 })
  const { notAfter } = await held()
  const fail = async (daysLeft: number) => {
    await set(`renew_at = now(), next_attempt_at = now(), lease_until = null`)
    const { renewAt } = await held()
    goTo(new Date(notAfter.getTime() - daysLeft * DAY_MS))
    await issue()
    expect(renewAt.getTime()).toBeLessThanOrEqual(Date.now())
    return lines.at(-1)
  }
  expect(await fail(40)).toMatchObject({ level: 30, msg: expect.stringContaining('not renewed yet') })
  expect(await fail(20)).toMatchObject({ level: 40, msg: expect.stringContaining('ends soon') })
})

test('nobody is asked about the certificate of a released hostname', async () => {
  const { db, set } = await setUp()
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await db.pool.query(
    `insert into certificates select $1, $2, state, chain_pem, sealed_key, issuer, serial, not_before, not_after, renew_at from certificates`,
    [hostname, project.id],
  )
  await set('ari_due_at = now()')
  expect((await claimDueRenewalInfo(db, 10, 60)).map((held) => held.hostname).sort()).toEqual([edge, hostname].sort())
  expect(await claimDueRenewalInfo(db, 10, 60)).toEqual([])
  await removeDomain(db, project, hostname)
  await set('ari_due_at = now()')
  expect((await claimDueRenewalInfo(db, 10, 60)).map((held) => held.hostname)).toEqual([edge])
})
