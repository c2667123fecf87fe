import { execFile, execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import {
  closeSync,
  constants,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keyOf, makeLink } from '../../test/support/chains.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { renewAt } from '../certs/certificate.ts'
import { createLocalAuthority, createLocalCa } from '../certs/local-ca.ts'
import { readConfig } from '../config.ts'
import { beginIssuance, recordCertificate, recordIssuanceFailure } from '../core/certificates.ts'
import type { Project } from '../core/projects.ts'
import type { Hostname } from '../hostname.ts'
import { certificateKeys } from '../roles/certificate-keys.ts'

const LAUNCHER = fileURLToPath(new URL('../../bin/namesake', import.meta.url))
const PROBLEM = {
  type: 'urn:ietf:params:acme:error:unauthorized',
  detail: 'x'.repeat(700),
  subproblems: [{ type: 'about:blank', extra: [1] }],
}

type Outcome = { code: number; out: string; err: string }

let folder: string
let database: TestDatabase
let env: Record<string, string>
let project: Project
let ca: Awaited<ReturnType<typeof createLocalCa>>
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'namesake-certificates-'))
  database = await createTestDatabase()
  env = { NAMESAKE_DATABASE_URL: database.url, NAMESAKE_SECRET: 'x'.repeat(32), NAMESAKE_LOG_LEVEL: 'silent' }
  project = await addProject(database.db)
  ca = await createLocalCa()
})
afterAll(async () => {
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

function run(...args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const settings = { PATH: process.env.PATH!, ...env }
    execFile(LAUNCHER, ['certificates', ...args], { env: settings, cwd: folder }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    )
  })
}

async function json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
  const { code, out, err } = await run(...args, '--json')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out) as T
}

/** What a program is told where the command fails. */
async function refusal(...args: string[]): Promise<unknown> {
  const { code, out, err } = await run(...args, '--json')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  return JSON.parse(err)
}

async function issue(lifetimeDays: number): Promise<{ hostname: Hostname; chainPem: string; keyPem: string; serial: string }> {
  const hostname = await claim(database.db, project)
  const authority = createLocalAuthority({ caKeyPem: ca.keyPem, caCertPem: ca.certPem, lifetimeDays })
  const { keyPem, ...issued } = await authority.issue(hostname, { signal: AbortSignal.timeout(10_000) })
  expect(await beginIssuance(database.db, hostname)).toMatchObject({ kind: 'go' })
  const sealedKey = certificateKeys(readConfig(env, folder).config).seal(keyPem, hostname)
  await recordCertificate(database.db, hostname, { ...issued, sealedKey, renewAt: renewAt(issued) })
  return { hostname, chainPem: issued.chainPem, keyPem, serial: issued.serial }
}

async function fail(problem: object, retryAfterS?: number): Promise<Hostname> {
  const hostname = await claim(database.db, project)
  await beginIssuance(database.db, hostname)
  await recordIssuanceFailure(database.db, hostname, { problem, sentence: 'The authority says no.', retryAfterS })
  return hostname
}

test('list has whatever runs out first on top, with days left and what happens next', async () => {
  const long = await issue(90)
  const short = await issue(6)
  const none = await fail(PROBLEM)
  const listed = await json<{ hostname: string; daysLeft: number | null; nextStep: string }[]>('list', '--project', project.slug)
  expect(listed.map(({ hostname }) => hostname)).toEqual([none, short.hostname, long.hostname])
  expect(listed.map((entry) => entry.daysLeft)).toEqual([null, 5, 89])
  expect(listed[0]).toMatchObject({ state: 'failed', nextStep: expect.stringMatching(/^tried again .* UTC: The authority says no\./) })
  expect(listed[1]).toMatchObject({ state: 'issued', nextStep: expect.stringMatching(/^renewed /) })
  const { out } = await run('list', '--project', project.slug, '--limit', '1')
  expect(out).toMatch(/^HOSTNAME .*DAYS LEFT.*\n.*failed.*\nand 2 more: --limit 3\n$/)
  const cut = await run('list', '--project', project.slug, '--limit', '1', '--json')
  expect(cut).toMatchObject({ code: 0, err: 'and 2 more: --limit 3\n' })
  expect(JSON.parse(cut.out)).toHaveLength(1)
  expect(await json<unknown[]>('list', '--state', 'failed')).toHaveLength(1)
  expect(await run('list', '--limit', '0')).toMatchObject({ code: 2, out: '' })
  expect(await run('list', '--project', 'nobody')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^namesake: there is no project nobody\. Which there are: .*projects list\n$/),
  })
})

test('what ends soon and could not be renewed says why, on top; what is not renewed any more says since when, last', async () => {
  const slug = (await addProject(database.db)).slug
  const set = async (assignment: string) => {
    const { hostname } = await issue(90)
    await database.db.pool.query(`update certificates set ${assignment} where hostname = $1`, [hostname])
    await database.db.pool.query(
      'with moved as (update domains set project_id = (select id from projects where slug = $2) where hostname = $1 returning project_id) update certificates set project_id = (select project_id from moved) where hostname = $1',
      [hostname, slug],
    )
    return hostname
  }
  const fresh = await set('serial = serial')
  const left = await set(
    `not_after = now() - interval '40 days', dns_left_at = now() - interval '60 days', renewal_stopped_at = now() - interval '10 days'`,
  )
  const ends = await set(
    `not_after = now() + interval '3 days', renew_at = now() - interval '27 days', last_problem = '{}', last_sentence = 'It is down.', next_attempt_at = now() + interval '1 hour'`,
  )
  const listed = await json<{ hostname: string; nextStep: string }[]>('list', '--project', slug)
  expect(listed.map(({ hostname }) => hostname)).toEqual([ends, fresh, left])
  expect(listed[0]!.nextStep).toMatch(/^NOT RENEWED YET, tried again .* UTC: It is down\.$/)
  expect(listed[2]!.nextStep).toMatch(/^NOT RENEWED since .* UTC: its DNS leads elsewhere since .* UTC$/)
  expect((await run('list', '--project', slug)).out).toMatch(new RegExp(`${left} .*ended`))
  expect((await run('show', left)).out).toMatch(/ended 4[01] days ago\n {2}Renewal +It ended on .* orders a certificate at once/)
})

test("show prints the authority's problem document in full, and the history", async () => {
  const hostname = await fail(PROBLEM)
  const shown = await json('show', hostname)
  expect(shown).toMatchObject({
    projectSlug: project.slug,
    state: 'failed',
    lastError: { problem: PROBLEM },
    history: [{ outcome: 'failed' }],
  })
  const { out } = await run('show', hostname)
  expect(out).toContain(PROBLEM.detail)
  expect(out).toMatch(/"extra": \[/)
  expect(out).toMatch(/History\n.* UTC {2}failed: The authority says no\./)
  expect(out).toContain(`domains show ${hostname} --project ${project.slug} names the records`)
})

test('show prints what is in hand, never its key', async () => {
  const { hostname, serial, keyPem } = await issue(90)
  const { out } = await run('show', hostname)
  for (const part of [serial, 'CN=Namesake local CA', '89 days left', `Names        ${hostname}`, 'issued: serial'])
    expect(out).toContain(part)
  const whole = await run('show', hostname, '--json')
  expect(JSON.parse(whole.out)).toMatchObject({ names: [hostname], daysLeft: 89, chainPem: expect.stringContaining('BEGIN CERTIFICATE') })
  for (const text of [out, whole.out]) expect(text).not.toMatch(/PRIVATE KEY|sealedKey/)
  expect(keyPem).toContain('PRIVATE KEY')
  expect(await run('show', 'nobody.customer.test')).toMatchObject({ code: 1, err: expect.stringContaining('is not registered') })
})

describe('renew', () => {
  test('orders a new certificate although the present one is fresh, which serves on', async () => {
    const { hostname } = await issue(90)
    expect(await beginIssuance(database.db, hostname)).toMatchObject({ kind: 'no' })
    const { out } = await run('renew', hostname)
    expect(out).toMatch(/is asked for: a worker orders it within seconds\.\nThe present one serves until then.*\n.*certificates show/)
    const { rowCount } = await database.db.pool.query('select from graphile_worker._private_jobs where key = $1', [`issue:${hostname}`])
    expect(rowCount).toBe(1)
    expect(await beginIssuance(database.db, hostname)).toMatchObject({ kind: 'go', renewing: true })
    expect((await run('renew', hostname)).out).toMatch(/is under way already/)
  })

  test("does not wait for our own back-off, but for the authority's limit", async () => {
    const tried = await fail(PROBLEM)
    expect(await json('renew', tried)).toEqual({ hostname: tried, outcome: 'requested', validUntil: null })
    expect(await beginIssuance(database.db, tried)).toMatchObject({ kind: 'go' })
    const limited = await fail({ type: 'urn:ietf:params:acme:error:rateLimited' }, 3_600)
    expect(await run('renew', limited)).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('limit is reached: the next attempt'),
    })
    expect(await beginIssuance(database.db, limited)).toMatchObject({ kind: 'no' })
  })

  test('orders the first certificate, and nothing for a stranger', async () => {
    const hostname = await claim(database.db, project)
    expect(await json('renew', hostname)).toMatchObject({ outcome: 'requested', validUntil: null })
    expect(await refusal('renew', 'nobody.customer.test')).toEqual({
      code: 'domain_not_found',
      detail: 'nobody.customer.test is not registered',
    })
  })
})

describe('import', () => {
  async function bring(names: string[], untilDays = 60) {
    const root = await makeLink('Root', undefined, { ca: true })
    const leaf = await makeLink('leaf', root, { names, untilDays })
    const files = { chain: join(folder, 'brought.pem'), key: join(folder, 'brought-key.pem') }
    writeFileSync(files.chain, leaf.pem + root.pem)
    writeFileSync(files.key, keyOf(leaf).export({ type: 'sec1', format: 'pem' }))
    return { leaf, args: ['--chain', files.chain, '--key', files.key] }
  }

  test('keeps chain and sealed key, which come out again, and says when to bring the next one', async () => {
    const { hostname } = await issue(90)
    const { leaf, args } = await bring([hostname])
    const { code, out } = await run('import', '--hostname', hostname, '--project', project.slug, ...args)
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/is imported.*CN=Root.*\n.*Mind: .*\nNo order replaces it/) })
    const key = join(folder, 'again.pem')
    expect((await run('export', hostname)).out).not.toContain('PRIVATE')
    await run('export', hostname, '--key', key)
    expect(readFileSync(key, 'utf8')).toBe(keyOf(leaf).export({ type: 'pkcs8', format: 'pem' }))
    const { rows } = await database.db.pool.query<{ sealed: Buffer }>(
      'select sealed_key as sealed from certificates where hostname = $1 and origin = $2',
      [hostname, 'imported'],
    )
    expect(rows[0]!.sealed.toString('latin1')).not.toContain('PRIVATE')
    expect(await json('show', hostname)).toMatchObject({ origin: 'imported', nextStep: expect.stringMatching(/^kept as imported until/) })
    expect(await run('renew', hostname)).toMatchObject({ code: 1, err: expect.stringContaining('import the next one') })
  })

  test('is undone by an order in its place, which the imported one outlives if it fails', async () => {
    const { hostname } = await issue(90)
    const { leaf, args } = await bring([hostname])
    await run('import', '--hostname', hostname, ...args)
    expect((await run('renew', hostname)).err).toContain('certificates order')
    const { out } = await run('order', hostname)
    expect(out).toMatch(/a worker orders a certificate within seconds.*\nThe imported one serves until then/)
    expect(await json('show', hostname)).toMatchObject({ origin: 'ordered', chainPem: expect.stringContaining(leaf.pem.slice(40, 100)) })
    const { rowCount } = await database.db.pool.query('select from graphile_worker._private_jobs where key = $1', [`issue:${hostname}`])
    expect(rowCount).toBe(1)
    expect(await beginIssuance(database.db, hostname)).toMatchObject({ kind: 'go', renewing: true })
    expect(await run('order', hostname)).toMatchObject({ code: 1, err: expect.stringContaining('has no imported certificate') })
  })

  test('list warns before an imported one runs out', async () => {
    const hostname = await claim(database.db, project)
    const { args } = await bring([hostname], 20)
    expect(await json('import', '--hostname', hostname, ...args)).toMatchObject({
      hostname,
      warnings: [expect.any(String), expect.stringContaining('soon')],
    })
    expect((await run('list')).out).toMatch(new RegExp(`${hostname} .*imported .* 19 .*EXPIRES SOON: import the next one before`))
  })

  test('names what is wrong, and keeps nothing then', async () => {
    const hostname = await claim(database.db, project)
    const { args } = await bring(['other.customer.test'])
    const refused = await run('import', '--hostname', hostname, ...args)
    expect(refused).toMatchObject({ code: 1, out: '', err: expect.stringContaining(`is not for ${hostname}`) })
    expect(await refusal('import', '--hostname', hostname, ...args)).toEqual({
      code: 'certificate_invalid',
      detail: expect.stringContaining(`is not for ${hostname}`),
    })
    const other = await addProject(database.db)
    const fitting = await bring([hostname])
    const foreign = await run('import', '--hostname', hostname, '--project', other.slug, ...fitting.args)
    expect(foreign).toMatchObject({ code: 1, err: expect.stringContaining('is not a domain of this project') })
    expect(await json('show', hostname)).toMatchObject({ state: 'none', origin: null })
  })

  test('a secret that is not the installation’s seals nothing', async () => {
    const hostname = await claim(database.db, project)
    const { args } = await bring([hostname])
    const right = env.NAMESAKE_SECRET!
    env.NAMESAKE_SECRET = 'y'.repeat(32)
    const refused = await run('import', '--hostname', hostname, ...args)
    env.NAMESAKE_SECRET = right
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('NAMESAKE_SECRET is not the secret') })
    expect(await json('show', hostname)).toMatchObject({ state: 'none' })
  })
})

describe('export', () => {
  test('prints the chain alone', async () => {
    const { hostname, chainPem } = await issue(90)
    expect((await run('export', hostname)).out).toBe(chainPem)
  })

  test('writes chain and unsealed key into files that their owner alone may read, in the place of older ones', async () => {
    const { hostname, chainPem, keyPem } = await issue(90)
    const [chain, key] = [join(folder, 'chain.pem'), join(folder, 'key.pem')]
    writeFileSync(key, 'old', { mode: 0o644 })
    const { out } = await run('export', hostname, '--chain', chain, '--key', key)
    expect(out).toMatch(/The chain of .* is in .*chain\.pem\.\nIts private key is in .*key\.pem, unsealed.*\nSerial /)
    expect([readFileSync(chain, 'utf8'), readFileSync(key, 'utf8')]).toEqual([chainPem, keyPem])
    expect([chain, key].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600])
    expect(new X509Certificate(readFileSync(chain)).checkHost(hostname)).toBe(hostname)
  })

  test('writes into a pipe and through a link, and puts a file in the place of neither', async () => {
    const { hostname, chainPem, keyPem } = await issue(90)
    const pipe = join(folder, 'key.pipe')
    execFileSync('mkfifo', [pipe])
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
    const [link, target] = [join(folder, 'current.pem'), join(folder, 'target.pem')]
    writeFileSync(target, 'old')
    symlinkSync('target.pem', link)
    expect(await run('export', hostname, '--chain', link, '--key', pipe)).toMatchObject({ code: 0, err: '' })
    expect(lstatSync(pipe).isFIFO()).toBe(true)
    expect(readFileSync(reader, 'utf8')).toBe(keyPem)
    closeSync(reader)
    expect([readlinkSync(link), readFileSync(target, 'utf8')]).toEqual(['target.pem', chainPem])
  })

  test('leaves the chain as it was where the key cannot be written', async () => {
    const { hostname } = await issue(90)
    const kept = mkdtempSync(join(folder, 'kept-'))
    writeFileSync(join(kept, 'chain.pem'), 'former')
    const { code, err } = await run('export', hostname, '--chain', join(kept, 'chain.pem'), '--key', folder)
    expect({ code, err }).toEqual({ code: 1, err: `namesake: ${folder} cannot be written: it is a folder: name a file in it\n` })
    expect([readdirSync(kept), readFileSync(join(kept, 'chain.pem'), 'utf8')]).toEqual([['chain.pem'], 'former'])
  })

  test('puts no two things into one file, also where that is named in two ways', async () => {
    const { hostname } = await issue(90)
    const kept = mkdtempSync(join(folder, 'kept-'))
    const combined = join(kept, 'site.pem')
    writeFileSync(combined, 'former')
    symlinkSync('site.pem', join(kept, 'current.pem'))
    symlinkSync('.', join(kept, 'here'))
    for (const [chain, key] of [
      [combined, combined],
      [combined, join(kept, 'current.pem')],
      [join(kept, 'new.pem'), join(kept, 'here', 'new.pem')],
    ]) {
      const { code, err } = await run('export', hostname, '--chain', chain!, '--key', key!)
      expect({ code, err }).toEqual({ code: 1, err: `namesake: ${key} cannot be written: it is named twice: name two files\n` })
    }
    expect([readdirSync(kept).sort(), readFileSync(combined, 'utf8')]).toEqual([['current.pem', 'here', 'site.pem'], 'former'])
  })

  test('leaves a link alone that leads nowhere', async () => {
    const { hostname } = await issue(90)
    const link = join(folder, 'astray.pem')
    symlinkSync('nowhere.pem', link)
    expect(await run('export', hostname, '--key', link)).toMatchObject({
      code: 1,
      err: expect.stringContaining('astray.pem cannot be written'),
    })
    expect(readlinkSync(link)).toBe('nowhere.pem')
  })

  test('says what stands in the way', async () => {
    expect(await run('export', await fail(PROBLEM))).toMatchObject({ code: 1, out: '', err: expect.stringContaining('has no certificate') })
    const { hostname } = await issue(90)
    expect((await run('export', hostname, '--key', join(folder, 'none', 'key.pem'))).err).toMatch(
      /none\/key\.pem cannot be written: there is no such folder: make it first/,
    )
  })
})
