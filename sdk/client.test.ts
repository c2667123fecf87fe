import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { startTestApi, type Tenant, type TestApi } from '../test/support/api.ts'
import { createTestCa } from '../test/support/certificates.ts'
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

test('a link opens the page of its hostname, and its token is what the element takes', async () => {
  const hostname = freshHostname()
  await client.register(hostname)
  const { url, expiresAt } = await client.link(hostname)
  expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now())
  const token = new URL(url).hash.slice(1)
  const shown = await fetch(`${api.url}/v1/connect`, { headers: { authorization: `Connect ${token}` } })
  expect(await shown.json()).toMatchObject({ hostname })
})

test('a certificate is brought, and handed back to be ordered', async () => {
  const hostname = freshHostname()
  await client.register(hostname)
  const { chainPem, keyPem } = await (await createTestCa()).issue([hostname])
  const { certificate } = await client.importCertificate(hostname, { chain: chainPem, key: keyPem })
  expect(certificate).toMatchObject({ state: 'issued', origin: 'imported' })
  await client.orderInsteadOfImported(hostname)
  expect((await client.show(hostname)).certificate.origin).toBe('ordered')
  expect(await client.orders(hostname)).toMatchObject([{ outcome: 'imported' }])
  await expect(client.importCertificate(hostname, { chain: chainPem, key: 'none' })).rejects.toMatchObject({ code: 'certificate_invalid' })
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

/** A server that is not Namesake, and what it was asked. */
async function startStranger(answer: (response: ServerResponse) => void) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    answer(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, asked, client: createClient({ baseUrl: url, token: tenant.token }) }
}

const STRANGE: [string, number, string][] = [
  ['a gateway', 502, '<h1>Bad Gateway</h1>'],
  ['a page for everything', 200, '<!doctype html>'],
  ['an empty page', 200, ''],
  ['a word', 200, '"ok"'],
  ['a document without a code', 404, '{"message":"no route"}'],
]

test.each(STRANGE)('an answer of %s (%s) is told apart from the service, also where a hostname is removed', async (_, status, body) => {
  const { client: lost } = await startStranger((response) => response.writeHead(status).end(body))
  for (const call of [lost.list(), lost.remove('shop.customer.com'), lost.resolve('shop.customer.com'), gather(lost.pages(2))]) {
    const error = await call.catch((failure: unknown) => failure)
    expect(error).toBeInstanceOf(NamesakeError)
    expect(error).toMatchObject({ status, code: 'not_a_namesake_answer', message: expect.stringContaining("is this the API's address?") })
  }
})

test('a service that cannot be reached is a NamesakeError as well, with what the network said as its cause', async () => {
  const { client: cut } = await startStranger((response) => response.socket!.destroy())
  const error = await cut.list().catch((failure: unknown) => failure)
  expect(error).toBeInstanceOf(NamesakeError)
  expect(error).toMatchObject({ status: 0, code: 'unreachable', cause: expect.any(TypeError) })
})

test('a call that its caller ends rejects with the reason given, also in the middle of an answer', async () => {
  const ending = new AbortController()
  const reason = new Error('the visitor has left')
  const { url } = await startStranger((response) => response.writeHead(503).write('{"code":'))
  const slow = createClient({
    baseUrl: url,
    token: tenant.token,
    fetch: async (...asked) => {
      const response = await fetch(...asked)
      setImmediate(() => ending.abort(reason))
      return response
    },
  })
  await expect(slow.show('shop.customer.com', { signal: ending.signal })).rejects.toBe(reason)
})

test('a redirect is not followed with the token, and the error names where the address leads', async () => {
  const {
    url,
    asked,
    client: moved,
  } = await startStranger((response) => response.writeHead(301, { location: 'https://api.vendor.test/' }).end())
  const error = await moved.list().catch((failure: unknown) => failure)
  expect(error).toMatchObject({
    status: 301,
    code: 'not_a_namesake_answer',
    message: expect.stringContaining('(https://api.vendor.test/)'),
  })
  expect(error).toMatchObject({ message: expect.stringContaining(url) })
  expect(asked).toHaveLength(1)
})

test('where fetch knows only the redirect modes of Cloudflare Workers, calls are sent', async () => {
  const worker = createClient({
    baseUrl: api.url,
    token: tenant.token,
    fetch: async (url, init) => {
      if (!['follow', 'manual'].includes(init!.redirect!))
        throw new TypeError('Invalid redirect value, must be one of "follow" or "manual"')
      return fetch(url, init)
    },
  })
  expect(await worker.list({ search: 'nowhere' })).toEqual([])
})

test('a path of the address is kept, on the first page and on the next', async () => {
  const { url, asked } = await startStranger((response) => {
    response.writeHead(200, asked.length === 1 ? { link: '<https://api.vendor.test/v1/edge/domains?cursor=x>; rel="next"' } : {}).end('[]')
  })
  await gather(createClient({ baseUrl: `${url}/namesake/`, token: tenant.token }).pages(1))
  expect(asked).toEqual(['GET /namesake/v1/edge/domains?limit=1', 'GET /namesake/v1/edge/domains?cursor=x'])
})

test.each(['api.example.com:4000', 'ftp://api.example.com', 'api.example.com'])('%s is no address of an API', (baseUrl) => {
  expect(() => createClient({ baseUrl, token: tenant.token })).toThrow(TypeError)
})

test.each([undefined, '', '10.0.0.5:3000', 'localhost:3000', '[::1]:3000', 'my_app.internal.com', 'a..b', '*.customer.com'])(
  'a Host header that says %s stands for nothing',
  async (host) => expect(await client.resolve(host)).toBeUndefined(),
)

test('a check is waited for longer than the service looks', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout')
  onTestFinished(() => timeout.mockRestore())
  const { client: watched } = await startStranger((response) => response.end('{}'))
  await watched.show('shop.customer.com')
  await watched.check('shop.customer.com')
  expect(timeout.mock.calls).toEqual([[10_000], [30_000]])
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

test('without a token it is said that there is none', () => {
  expect(() => createClient({ baseUrl: api.url, token: process.env.NO_SUCH_TOKEN })).toThrow(/^no token was given/)
})

async function gather<T>(all: AsyncIterable<T>): Promise<T[]> {
  const gathered: T[] = []
  for await (const one of all) gathered.push(one)
  return gathered
}
