import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { beginIssuance, recordIssuanceFailure } from '../../src/core/certificates.ts'
import { parseHostname } from '../../src/hostname.ts'
import { startTestApi, type Tenant, type TestApi } from '../support/api.ts'
import { EDGE_HOST, freshHostname } from '../support/tenants.ts'

type Listed = { hostname: string; verified: boolean; createdAt: string }[]

let api: TestApi
let tenant: Tenant
beforeAll(async () => {
  api = await startTestApi()
  tenant = await api.addTenant()
})
afterAll(() => api.stop())

const register = (body: unknown, by = tenant) => by.call('POST', '/v1/edge/domains', { body })

describe('POST /v1/edge/domains', () => {
  test('200 OK with the domain record, as JSON', async () => {
    const answer = await register({ hostname: freshHostname(), metadata: { a: 1 } })
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  })

  test('the change is announced to the other machines', async () => {
    const hostname = freshHostname()
    await register({ hostname })
    expect(api.announced).toContain(hostname)
  })

  test('register is idempotent per project and hostname, however often and however it is written', async () => {
    const own = await api.addTenant()
    const hostname = freshHostname()
    const forms = [hostname, hostname.toUpperCase(), `${hostname}.`, hostname]
    const answers = await Promise.all(forms.map((form) => register({ hostname: form }, own)))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect((await own.call('GET', '/v1/edge/domains')).json<Listed>()).toHaveLength(1)
  })

  test('an international hostname is kept as punycode', async () => {
    const label = freshHostname().split('.')[0]
    expect((await register({ hostname: `${label}.bücher.test` })).json().hostname).toBe(`${label}.xn--bcher-kva.test`)
  })

  test.each([
    ['no hostname', {}, 'body_invalid'],
    ['no body', undefined, 'body_invalid'],
    ['an array', [], 'body_invalid'],
    ['an unknown field', { hostname: 'a.test', colour: 'red' }, 'body_invalid'],
    ['a hostname that is a number', { hostname: 1 }, 'hostname_invalid'],
    ['metadata that is no object', { hostname: 'a.test', metadata: 'x' }, 'metadata_invalid'],
    ['broken JSON', '{"hostname":', 'body_invalid'],
    ['a field twice', '{"hostname":"a.test","hostname":"b.test"}', 'body_invalid'],
    ['a key of metadata twice', '{"hostname":"a.test","metadata":{"a":{"b":1,"b":2}}}', 'body_invalid'],
    ['JSON with something after it', '{"hostname":"a.test"} x', 'body_invalid'],
  ])('400 for %s', async (_what, body, code) => {
    expect((await register(body)).json()).toMatchObject({ status: 400, code })
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', 'text/json', 'nonsense'])(
    '415 for a body of type %s',
    async (type) => {
      const answer = await tenant.call('POST', '/v1/edge/domains', { body: '{"hostname":"a.test"}', headers: { 'content-type': type } })
      expect(answer.json()).toMatchObject({ status: 415, code: 'unsupported_media_type' })
    },
  )

  test('parameters of the JSON type are accepted', async () => {
    const headers = { 'content-type': 'Application/JSON; charset=UTF-8' }
    expect((await tenant.call('POST', '/v1/edge/domains', { body: { hostname: freshHostname() }, headers })).status).toBe(200)
  })

  test('413 for a body over 1 MB', async () => {
    const answer = await register({ hostname: 'a.test', metadata: { a: 'x'.repeat(1024 * 1024) } })
    expect(answer.json()).toMatchObject({ status: 413, code: 'payload_too_large' })
  })
})

describe('GET /v1/edge/domains', () => {
  test("200 OK with every domain of the token's project and no other, by createdAt, then hostname", async () => {
    const own = await api.addTenant()
    for (let n = 0; n < 5; n += 1) await register({ hostname: freshHostname() }, own)
    const listed = (await own.call('GET', '/v1/edge/domains')).json<Listed>()
    expect(listed).toHaveLength(5)
    expect(listed).toEqual(listed.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt) || a.hostname.localeCompare(b.hostname)))
  })

  test('an empty array while the project has none', async () => {
    const own = await api.addTenant()
    expect((await own.call('GET', '/v1/edge/domains')).text).toBe('[]')
  })

  test('limit makes pages that Link leads through; the last page has none', async () => {
    const own = await api.addTenant()
    for (let n = 0; n < 5; n += 1) await register({ hostname: freshHostname() }, own)
    const all = (await own.call('GET', '/v1/edge/domains')).json<Listed>()
    const gathered: Listed = []
    let path: string | undefined = '/v1/edge/domains?limit=2&search=customer'
    for (let pages = 0; path && pages < 9; pages += 1) {
      const page = await own.call('GET', path)
      gathered.push(...page.json<Listed>())
      const next: string | undefined = /^<https:\/\/api\.namesake\.test([^>]+)>; rel="next"$/.exec(String(page.headers.link))?.[1]
      expect(page.json<Listed>().length).toBe(next ? 2 : 1)
      path = next
    }
    expect(gathered).toEqual(all)
  })

  test('verified and search narrow it', async () => {
    const own = await api.addTenant()
    const [one, two] = [freshHostname(), freshHostname()]
    for (const hostname of [one, two]) await register({ hostname }, own)
    api.dns.set(two, 'CNAME', EDGE_HOST)
    await own.call('POST', `/v1/edge/domains/${two}/check`)
    const names = async (query: string) =>
      (await own.call('GET', `/v1/edge/domains?${query}`)).json<Listed>().map(({ hostname }) => hostname)
    expect(await names('verified=true')).toEqual([two])
    expect(await names('verified=false')).toEqual([one])
    expect(await names(`search=${one.slice(2, 10).toUpperCase()}`)).toEqual([one])
    expect(await names('search=nothing-like-it')).toEqual([])
  })

  test.each(['limit=0', 'limit=1001', 'limit=-1', 'limit=ten', 'limit=1&limit=2', 'limit=', 'verified=yes', 'cursor=nonsense'])(
    '400 query_invalid for %s',
    async (query) => {
      expect((await tenant.call('GET', `/v1/edge/domains?${query}`)).json()).toMatchObject({ status: 400, code: 'query_invalid' })
    },
  )
})

describe('DELETE /v1/edge/domains/{hostname}', () => {
  test('204 No Content with an empty body', async () => {
    const hostname = freshHostname()
    await register({ hostname })
    const answer = await tenant.call('DELETE', `/v1/edge/domains/${hostname}`)
    expect([answer.status, answer.text, answer.headers['content-length'], answer.headers['content-type']]).toEqual([
      204,
      '',
      undefined,
      undefined,
    ])
  })

  test('the hostname may be URL-encoded in any way', async () => {
    const label = freshHostname().split('.')[0]
    const encoded = [
      (name: string) => name,
      (name: string) => name.replaceAll('.', '%2E'),
      (name: string) => name.toUpperCase(),
      (name: string) => `${name}.`,
      () => encodeURIComponent(`${label}.bücher.test`),
    ]
    for (const encode of encoded) {
      const hostname = `${label}.xn--bcher-kva.test`
      await register({ hostname })
      expect((await tenant.call('DELETE', `/v1/edge/domains/${encode(hostname)}`)).status).toBe(204)
    }
  })

  test('clients that send a JSON type without a body are served too', async () => {
    const hostname = freshHostname()
    await register({ hostname })
    expect((await tenant.call('DELETE', `/v1/edge/domains/${hostname}`, { headers: { 'content-type': 'application/json' } })).status).toBe(
      204,
    )
  })

  test('404 the second time', async () => {
    const hostname = freshHostname()
    await register({ hostname })
    await tenant.call('DELETE', `/v1/edge/domains/${hostname}`)
    expect((await tenant.call('DELETE', `/v1/edge/domains/${hostname}`)).json()).toMatchObject({ status: 404, code: 'domain_not_found' })
  })

  test('400 with the reason when the path holds no hostname', async () => {
    for (const path of ['localhost', 'a_b.test', 'a.test%2Fb', '%00.test', `${'a'.repeat(300)}.test`]) {
      expect((await tenant.call('DELETE', `/v1/edge/domains/${path}`)).json()).toMatchObject({ status: 400, code: 'hostname_invalid' })
    }
    expect((await tenant.call('DELETE', '/v1/edge/domains/%zz')).json()).toMatchObject({ status: 400, code: 'request_malformed' })
  })
})

describe('GET /v1/edge/domains/{hostname}', () => {
  test('200 with the record, its DNS with the record to add, and its certificate', async () => {
    const hostname = freshHostname()
    const record = (await register({ hostname, metadata: { a: 1 } })).json()
    const details = (await tenant.call('GET', `/v1/edge/domains/${hostname}`)).json()
    expect(details).toMatchObject(record)
    expect(details.dns).toMatchObject({
      state: 'unknown',
      expected: [{ name: hostname, type: 'CNAME', value: EDGE_HOST }],
      checkedAt: null,
    })
    expect(details.certificate).toMatchObject({ state: 'none', attempts: 0, lastError: null })
  })

  test('404 for a hostname of another project', async () => {
    const other = await api.addTenant()
    const hostname = freshHostname()
    await register({ hostname }, other)
    expect((await tenant.call('GET', `/v1/edge/domains/${hostname}`)).status).toBe(404)
  })
})

describe('GET /v1/edge/domains/{hostname}/certificate/history', () => {
  test("200 with the attempts, newest first, each with the authority's own document; none before the first", async () => {
    const hostname = freshHostname()
    await register({ hostname })
    const path = `/v1/edge/domains/${hostname}/certificate/history`
    expect((await tenant.call('GET', path)).json()).toEqual([])
    const problem = { type: 'urn:ietf:params:acme:error:caa', detail: 'not permitted', subproblems: [{ type: 'about:blank', extra: [1] }] }
    await beginIssuance(api.db, parseHostname(hostname))
    await recordIssuanceFailure(api.db, parseHostname(hostname), { problem, sentence: 'The authority may not.' })
    expect((await tenant.call('GET', path)).json()).toEqual([
      {
        ...{ beganAt: expect.any(String), endedAt: expect.any(String), outcome: 'failed', renewing: false },
        ...{ issuer: null, serial: null, notAfter: null, error: { sentence: 'The authority may not.', problem } },
      },
    ])
  })

  test('404 for a hostname of another project', async () => {
    const other = await api.addTenant()
    const hostname = freshHostname()
    await register({ hostname }, other)
    expect((await tenant.call('GET', `/v1/edge/domains/${hostname}/certificate/history`)).status).toBe(404)
  })
})

describe('POST /v1/edge/domains/{hostname}/check', () => {
  test('probes now and answers with what was found', async () => {
    const hostname = freshHostname()
    await register({ hostname })
    api.dns.set(hostname, 'CNAME', 'elsewhere.test')
    const details = (await tenant.call('POST', `/v1/edge/domains/${hostname}/check`)).json()
    expect(details.dns).toMatchObject({ state: 'wrong-target', found: [{ name: hostname, type: 'CNAME', value: 'elsewhere.test' }] })
  })

  test('needs no body, and takes an empty one under any type', async () => {
    const hostname = freshHostname()
    await register({ hostname })
    for (const type of [undefined, 'application/json', 'application/x-www-form-urlencoded']) {
      const headers = { 'content-length': '0', ...(type && { 'content-type': type }) }
      expect((await tenant.call('POST', `/v1/edge/domains/${hostname}/check`, { headers })).status).toBe(200)
    }
  })

  test('at most one probe in two seconds a hostname, however many ask', async () => {
    const probes = async () => {
      const hostname = freshHostname()
      await register({ hostname })
      const asked = () => api.dns.queries.filter(({ name, type }) => name === hostname && type === 'CNAME').length
      const beganAt = performance.now()
      await tenant.call('POST', `/v1/edge/domains/${hostname}/check`)
      const once = asked()
      const answers = await Promise.all(Array.from({ length: 20 }, () => tenant.call('POST', `/v1/edge/domains/${hostname}/check`)))
      expect(answers.every(({ status }) => status === 200)).toBe(true)
      return { more: asked() - once, tookMs: performance.now() - beganAt }
    }
    let probed = await probes()
    for (let tries = 1; tries < 4 && probed.tookMs > 1_800; tries += 1) probed = await probes() // after two seconds another one is right
    expect(probed.more).toBe(0)
  })

  test('404 for a hostname of another project, which is not probed', async () => {
    const other = await api.addTenant()
    const hostname = freshHostname()
    await register({ hostname }, other)
    expect((await tenant.call('POST', `/v1/edge/domains/${hostname}/check`)).status).toBe(404)
    expect(api.dns.queries.some(({ name }) => name === hostname)).toBe(false)
  })
})
