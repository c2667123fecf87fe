import { afterAll, beforeAll, expect, test } from 'vitest'
import { updateProject } from '../../src/core/projects.ts'
import { startTestApi, type Tenant, type TestApi } from '../support/api.ts'
import { EDGE_HOST, freshHostname, PROJECT_RULES } from '../support/tenants.ts'

type Record = { hostname: string; verified: boolean; verifiedAt: string | null; createdAt: string; metadata: object }
type Details = Record & { dns: { state: string; sentence: string; expected: object[]; checkedAt: string | null } }

let api: TestApi
let tenant: Tenant
beforeAll(async () => {
  api = await startTestApi()
  tenant = await api.addTenant()
})
afterAll(() => api.stop())

const register = async (hostname: string, metadata?: object, by = tenant) =>
  (await by.call('POST', '/v1/edge/domains', { body: { hostname, metadata } })).json<Record>()
const check = async (hostname: string, by = tenant) => (await by.call('POST', `/v1/edge/domains/${hostname}/check`)).json<Details>()
const list = async (by = tenant) => (await by.call('GET', '/v1/edge/domains')).json<Record[]>()

test('none to unverified: a register creates the record, unverified, and answers 200', async () => {
  const hostname = freshHostname()
  expect(await register(hostname)).toMatchObject({ hostname, verified: false, verifiedAt: null })
  expect((await list()).map((domain) => domain.hostname)).toContain(hostname)
})

test('a register of the same hostname in the same project leaves the state and answers with the existing record and merged metadata', async () => {
  const hostname = freshHostname()
  const first = await register(hostname, { a: 1, b: { deep: 1 } })
  const second = await register(hostname, { b: 2, c: 3 })
  expect(second).toEqual({ ...first, metadata: { a: 1, b: 2, c: 3 } })
  expect(await register(hostname)).toEqual(second)
  expect((await list()).filter((domain) => domain.hostname === hostname)).toEqual([second])
})

test('unverified to verified: the probe finds that the CNAME resolves to the edge host', async () => {
  const hostname = freshHostname()
  await register(hostname)
  api.dns.set(hostname, 'CNAME', EDGE_HOST)
  const found = await check(hostname)
  expect(found).toMatchObject({ verified: true, dns: { state: 'verified' } })
  expect(await register(hostname)).toMatchObject({ verified: true, verifiedAt: found.verifiedAt })
})

test('a register of a verified hostname leaves it verified', async () => {
  const hostname = freshHostname()
  await register(hostname)
  api.dns.set(hostname, 'CNAME', EDGE_HOST)
  const { verifiedAt } = await check(hostname)
  expect(await register(hostname, { a: 1 })).toMatchObject({ verified: true, verifiedAt, metadata: { a: 1 } })
})

test('a CNAME that differs from the edge host in case leaves it unverified', async () => {
  const hostname = freshHostname()
  await register(hostname)
  api.dns.set(hostname, 'CNAME', EDGE_HOST.toUpperCase())
  expect(await check(hostname)).toMatchObject({ verified: false, dns: { state: 'wrong-case' } })
})

test('removed: DELETE of a verified or unverified hostname; it leaves the list and no longer resolves', async () => {
  for (const verify of [false, true]) {
    const hostname = freshHostname()
    await register(hostname)
    if (verify) {
      api.dns.set(hostname, 'CNAME', EDGE_HOST)
      await check(hostname)
    }
    expect((await tenant.call('DELETE', `/v1/edge/domains/${hostname}`)).status).toBe(204)
    expect((await list()).map((domain) => domain.hostname)).not.toContain(hostname)
    expect((await tenant.call('GET', `/v1/edge/resolve?hostname=${hostname}`)).status).toBe(404)
  }
})

test('the removal is soft: the row stays, and a re-add begins unverified, without the old metadata', async () => {
  const hostname = freshHostname()
  await register(hostname, { secret: 'of before' })
  await tenant.call('DELETE', `/v1/edge/domains/${hostname}`)
  expect(await register(hostname)).toMatchObject({ verified: false, verifiedAt: null, metadata: {} })
  const { rows } = await api.db.pool.query('select deleted_at from domains where hostname = $1 order by id', [hostname])
  expect(rows.map((row) => row.deleted_at === null)).toEqual([false, true])
})

test('a hostname released by another project can be claimed at once, but is verified only with the proof that dns names', async () => {
  const other = await api.addTenant()
  const hostname = freshHostname()
  await register(hostname)
  api.dns.set(hostname, 'CNAME', EDGE_HOST)
  await check(hostname)
  await tenant.call('DELETE', `/v1/edge/domains/${hostname}`)
  expect(await register(hostname, {}, other)).toMatchObject({ verified: false })
  const found = await check(hostname, other)
  const proof = { name: `_namesake.${hostname}`, type: 'TXT', value: other.project.proof }
  expect(found).toMatchObject({ verified: false, dns: { state: 'proof-needed' } })
  expect(found.dns.expected).toContainEqual(proof)
})

test('so is one that another project names as its CNAME target, which leads to the edge whoever claims it', async () => {
  const other = await api.addTenant()
  const hostname = freshHostname('vendor.test')
  api.dns.set(hostname, 'CNAME', EDGE_HOST)
  await updateProject(api.db, tenant.project.slug, { cnameTarget: hostname }, PROJECT_RULES)
  await register(hostname, {}, other)
  const found = await check(hostname, other)
  expect(found).toMatchObject({ verified: false, dns: { state: 'proof-needed' } })
  expect(found.dns.sentence).toBe(
    `The record of ${hostname} is right; to prove that the hostname is yours, also add a TXT record named "_namesake.${hostname.split('.')[0]}" in the DNS of vendor.test with the value "${other.project.proof}".`,
  )
  api.dns.set(`_namesake.${hostname}`, 'TXT', other.project.proof)
  await expect.poll(async () => (await check(hostname, other)).verified).toBe(true)
})

test('a name that only a wildcard record leads to the edge is not verified while another project has its domain', async () => {
  const other = await api.addTenant()
  const domain = freshHostname()
  const login = `login.${domain}`
  for (const name of [domain, `*.${domain}`]) api.dns.set(name, 'CNAME', EDGE_HOST)
  await register(login, {}, other)
  await register(domain)
  expect(await check(domain)).toMatchObject({ verified: true })
  expect(await check(login, other)).toMatchObject({ verified: false, dns: { state: 'absent' } })
  api.dns.set(login, 'CNAME', EDGE_HOST)
  await expect.poll(async () => (await check(login, other)).verified).toBe(true)
})
