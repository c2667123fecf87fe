import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApi, type Tenant, type TestApi } from '../test/support/api.ts'
import { freshHostname } from '../test/support/tenants.ts'
import { type Client, createClient, NamesakeError } from './client.ts'

let api: TestApi
let tenant: Tenant
let client: Client

beforeAll(async () => {
  api = await startTestApi()
  tenant = await api.addTenant()
  client = createClient({ baseUrl: api.url, token: tenant.token })
})
afterAll(() => api.stop())

test('a hostname is registered, shown, checked, resolved and removed', async () => {
  const hostname = freshHostname()
  expect(await client.register(hostname, { customer: 42 })).toMatchObject({ hostname, verified: false, metadata: { customer: 42 } })
  expect((await client.show(hostname)).dns.expected[0]).toMatchObject({ name: hostname, type: 'CNAME' })
  expect((await client.check(hostname)).dns.state).toBe('absent')
  expect(await client.resolve(`${hostname}:8443`)).toMatchObject({ hostname, projectSlug: tenant.project.slug, metadata: { customer: 42 } })
  await client.remove(hostname)
  expect(await client.resolve(hostname)).toBeUndefined()
})

test('pages come one after the other and hold together what the list holds', async () => {
  const own = await api.addTenant()
  const mine = createClient({ baseUrl: api.url, token: own.token })
  for (let n = 0; n < 5; n += 1) await mine.register(freshHostname())
  const pages = await gather(mine.pages(2))
  expect(pages.map((page) => page.length)).toEqual([2, 2, 1])
  expect(pages.flat()).toEqual(await mine.list())
  expect(await mine.list({ verified: true })).toEqual([])
  expect(await mine.list({ search: pages[0]![0]!.hostname })).toEqual([pages[0]![0]])
})

test('a refusal is a NamesakeError with status, code, sentence and request id', async () => {
  const error = await client.register('not a hostname').catch((failure: unknown) => failure)
  expect(error).toBeInstanceOf(NamesakeError)
  expect(error).toMatchObject({
    status: 400,
    code: 'hostname_invalid',
    message: expect.stringContaining('spaces'),
    requestId: expect.any(String),
  })
})

test('an answer that is not of this service is told apart', async () => {
  const stranger = createClient({
    baseUrl: api.url,
    token: tenant.token,
    fetch: async () => new Response('<h1>Bad Gateway</h1>', { status: 502 }),
  })
  await expect(stranger.list()).rejects.toMatchObject({ status: 502, code: 'not_a_namesake_answer' })
})

const HOSTILE_LINKS = [
  'https://evil.test/v1/edge/domains?cursor=x',
  'https://api.vendor.test//evil.test/v1/edge/domains?cursor=x',
  '//evil.test/v1/edge/domains?cursor=x',
  '/\\\\evil.test/v1/edge/domains?cursor=x',
]

test.each(HOSTILE_LINKS)('the token is not sent to another host with a Link header that says %s', async (target) => {
  const asked: string[] = []
  const linked = createClient({
    baseUrl: api.url,
    token: tenant.token,
    fetch: async (url) => {
      asked.push(String(url))
      const headers = asked.length === 1 ? { link: `<${target}>; rel="next"` } : undefined
      return new Response('[]', { headers })
    },
  })
  await gather(linked.pages(1))
  expect(asked.map((url) => new URL(url).origin)).toEqual([api.url, api.url])
  expect(new URL(asked[1]!).search).toBe('?cursor=x')
})

test('a token with a line break behind it works; one that is no token is refused without being shown', async () => {
  expect(await createClient({ baseUrl: api.url, token: `${tenant.token}\n` }).list({ search: 'nowhere' })).toEqual([])
  const broken = `${tenant.token.slice(0, 40)}\n${tenant.token.slice(40)}`
  expect(() => createClient({ baseUrl: api.url, token: broken })).toThrow(/^the token is not svc_ and 64 hexadecimal digits$/)
})

async function gather<T>(all: AsyncIterable<T>): Promise<T[]> {
  const gathered: T[] = []
  for await (const one of all) gathered.push(one)
  return gathered
}
