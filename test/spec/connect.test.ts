import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { updateProject } from '../../src/core/projects.ts'
import { EDGE_IP, startTestApi, type Tenant, type TestApi } from '../support/api.ts'
import { createPerson } from '../support/browser-session.ts'
import { startMailServer, startMailWorker, type TestMail, textOf } from '../support/mail.ts'
import { CONNECT_SIGNER, LINK_SIGNER } from '../support/portal-parts.ts'
import { EDGE_HOST, freshHostname, PROJECT_RULES } from '../support/tenants.ts'

let api: TestApi
let mail: TestMail
let worker: { stop(): Promise<void> }
let tenant: Tenant
beforeAll(async () => {
  api = await startTestApi()
  mail = await startMailServer()
  worker = await startMailWorker({ db: api.db, databaseUrl: api.databaseUrl, smtpUrl: mail.smtpUrl })
  tenant = await api.addTenant()
})
afterAll(async () => {
  await worker.stop()
  await mail.stop()
  await api.stop()
})

async function linkFor(hostname: string, by = tenant): Promise<string> {
  await by.call('POST', '/v1/edge/domains', { body: { hostname } })
  const answer = await by.call('POST', `/v1/edge/domains/${hostname}/link`)
  expect(answer.status).toBe(200)
  return new URL(answer.json<{ url: string }>().url).hash.slice(1)
}

const withLink = (token: string, path = '', options: { method?: string; body?: unknown; origin?: string } = {}) =>
  api.call(options.method ?? 'GET', `/v1/connect${path}`, {
    headers: { authorization: `Connect ${token}`, ...(options.origin && { origin: options.origin, 'sec-fetch-site': 'cross-site' }) },
    ...(options.body !== undefined && { body: options.body }),
  })

test('a vendor makes a link, and its customer sees the record to add, without an account', async () => {
  const hostname = freshHostname()
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname, metadata: { secret: 'of the vendor' } } })
  const made = (await tenant.call('POST', `/v1/edge/domains/${hostname}/link`)).json<{ url: string; expiresAt: string }>()
  expect(made.url).toMatch(/^https:\/\/portal\.namesake\.test\/connect#[\w-]{64}$/)
  expect(Date.parse(made.expiresAt) - Date.now()).toBeGreaterThan(29.9 * 86_400_000)
  const answer = await withLink(new URL(made.url).hash.slice(1))
  expect(answer.json()).toMatchObject({
    hostname,
    project: { name: tenant.project.name, color: null, logoUrl: null },
    status: 'waiting-for-dns',
    dns: { expected: [{ name: hostname, type: 'CNAME', value: EDGE_HOST }] },
    expiresAt: made.expiresAt,
  })
  expect(answer.text).not.toContain('of the vendor')
})

test('no stream of news is opened by HEAD', async () => {
  const headers = { authorization: `Connect ${await linkFor(freshHostname())}` }
  const own = await api.call('HEAD', '/v1/connect/events', { headers })
  expect([own.status, own.headers.allow]).toEqual([405, 'GET, OPTIONS'])
  const project = await api.call('HEAD', `/v1/portal/projects/${tenant.project.slug}/events`)
  expect([project.status, project.headers.allow]).toEqual([405, 'GET'])
})

test('the DNS provider is known by the name servers that a check found', async () => {
  const hostname = freshHostname()
  const domain = hostname.slice(hostname.indexOf('.') + 1)
  const token = await linkFor(hostname)
  expect((await withLink(token)).json()).toMatchObject({ zone: null, provider: null })
  api.dns.set(domain, 'NS', 'ns41.domaincontrol.com', 'ns42.domaincontrol.com')
  const godaddy = { zone: domain, provider: { id: 'godaddy', name: 'GoDaddy' } }
  expect((await withLink(token, '/check', { method: 'POST' })).json()).toMatchObject(godaddy)
  expect((await withLink(token)).json()).toMatchObject(godaddy)
  const portal = await tenant.call('GET', `/v1/portal/projects/${tenant.project.slug}/domains/${hostname}`)
  expect(portal.json()).toMatchObject(godaddy)
})

test('a check finds what was changed a moment ago', async () => {
  const hostname = freshHostname()
  const token = await linkFor(hostname)
  api.dns.set(hostname, 'CNAME', EDGE_HOST)
  api.dns.set(hostname, 'A', EDGE_IP)
  expect((await withLink(token, '/check', { method: 'POST' })).json()).toMatchObject({
    dns: { state: 'verified' },
    status: 'certificate-pending',
  })
})

describe('a link', () => {
  test('opens its own hostname and dies with the claim, also when it is claimed anew', async () => {
    const hostname = freshHostname()
    const token = await linkFor(hostname)
    await tenant.call('DELETE', `/v1/edge/domains/${hostname}`)
    expect((await withLink(token)).json()).toMatchObject({ status: 401, code: 'connect_link_invalid' })
    await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
    expect((await withLink(token)).status).toBe(401)
  })

  test('of a hostname works as long as no twenty newer ones were made', async () => {
    const hostname = freshHostname()
    const first = await linkFor(hostname)
    const second = await linkFor(hostname)
    for (let n = 1; n < 20; n += 1) await linkFor(hostname)
    expect([(await withLink(first)).status, (await withLink(second)).status]).toEqual([401, 200])
  })

  test('is over after 30 days', async () => {
    const token = await linkFor(freshHostname())
    await api.db.pool.query(`update connect_links set expires_at = expires_at - interval '30 days' where id = $1`, [
      CONNECT_SIGNER.idOf(token),
    ])
    expect((await withLink(token)).status).toBe(401)
  })

  test('cannot be made up, mangled, or taken from a sign-in', async () => {
    const token = await linkFor(freshHostname())
    const id = CONNECT_SIGNER.idOf(token)!
    for (const wrong of [
      '',
      'x',
      token.slice(1),
      `${token}A`,
      `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
      LINK_SIGNER.tokenOf(id),
    ]) {
      expect((await withLink(wrong)).json()).toMatchObject({ status: 401, code: 'connect_link_invalid' })
    }
    const signIn = await api.call('POST', '/v1/auth/callback', { body: { token } })
    expect(signIn.json()).toMatchObject({ status: 401, code: 'magic_link_invalid' })
    expect((await api.call('GET', '/v1/connect', { headers: { authorization: `Bearer ${tenant.token}` } })).status).toBe(401)
  })

  test('is for a hostname that the project holds', async () => {
    const other = await api.addTenant()
    const hostname = freshHostname()
    await linkFor(hostname, other)
    expect((await tenant.call('POST', `/v1/edge/domains/${hostname}/link`)).json()).toMatchObject({ status: 404, code: 'domain_not_found' })
  })
})

test('customers are told the CNAME target of their vendor, before and after a check, on the page, by mail, and at once when it is changed', async () => {
  const vendor = await api.addTenant()
  const target = freshHostname('vendor.test')
  const hostname = freshHostname()
  const token = await linkFor(hostname, vendor)
  const set = (cnameTarget: string | null) => updateProject(api.db, vendor.project.slug, { cnameTarget }, PROJECT_RULES)
  const told = async (path = '', method = 'GET') =>
    (await withLink(token, path, { method })).json<{
      status: string
      dns: { state: string; sentence: string; expected: { value: string }[] }
    }>()
  const valueTold = async () => (await told()).dns.expected.map(({ value }) => value)

  await set(target)
  expect(await valueTold()).toEqual([target])
  const { dns } = await told('/check', 'POST')
  expect(dns).toMatchObject({
    state: 'absent',
    sentence: expect.stringContaining(`with the value "${target}"`),
    expected: [{ value: target }],
  })
  await set('later.vendor.test')
  expect((await told()).dns).toMatchObject({
    sentence: expect.stringContaining('with the value "later.vendor.test"'),
    expected: [{ value: 'later.vendor.test' }],
  })
  const headers = { authorization: `Connect ${token}`, 'x-forwarded-for': '198.51.100.200' }
  await api.call('POST', '/v1/connect/mail', { headers, body: { to: 'target@customer.test' } })
  const text = textOf(await mail.next('target@customer.test'))
  expect(text).toContain('Value: later.vendor.test')
  expect(text).not.toContain(EDGE_HOST)

  await set(target)
  api.dns.set(hostname, 'CNAME', target)
  const check = () => told('/check', 'POST') // one that follows within two seconds answers with the last findings
  await expect.poll(check).toMatchObject({ status: 'waiting-for-dns', dns: { state: 'cname-target-broken' } })
  api.dns.set(target, 'CNAME', EDGE_HOST)
  await expect.poll(check).toMatchObject({ dns: { state: 'verified' } })
  await set(null)
  expect(await valueTold()).toEqual([EDGE_HOST])
})

test('the records go by mail to whoever manages the DNS, five times in 15 minutes', async () => {
  const hostname = freshHostname()
  const token = await linkFor(hostname)
  const send = (to: string) => withLink(token, '/mail', { method: 'POST', body: { to, note: 'Could you add this today?' } })
  expect((await send('dns@customer.test')).json()).toEqual({ sent: true })
  const text = textOf(await mail.next('dns@customer.test'))
  expect(text).toContain(`Name:  ${hostname}\r\n  Type:  CNAME\r\n  Value: ${EDGE_HOST}`)
  expect(text).toContain('Could you add this today?')
  expect(text).toContain(`https://portal.namesake.test/connect#${token}`)
  expect((await send('not an address')).json()).toMatchObject({ status: 400, code: 'email_invalid' })
  const statuses: number[] = []
  for (let n = 0; n < 5; n += 1) statuses.push((await send(`n${n}@customer.test`)).status)
  expect(statuses).toEqual([202, 202, 202, 202, 429])
})

test('one reader gets five such mails in 15 minutes, whoever sends them and however the address is written', async () => {
  const statuses: number[] = []
  for (let n = 0; n < 7; n += 1) {
    const headers = { authorization: `Connect ${await linkFor(freshHostname())}`, 'x-forwarded-for': `198.51.100.${n}` }
    const body = { to: `Reader+${n}@customer.test` }
    statuses.push((await api.call('POST', '/v1/connect/mail', { headers, body })).status)
  }
  expect(statuses).toEqual([202, 202, 202, 202, 202, 429, 429])
})

test('pages of any origin may ask, without credentials, and nothing else of the API answers them', async () => {
  const token = await linkFor(freshHostname())
  const answer = await withLink(token, '', { origin: 'https://vendor.test' })
  expect(answer.headers).toMatchObject({ 'access-control-allow-origin': '*', 'access-control-expose-headers': 'retry-after' })
  expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
  const refused = await withLink('x', '', { origin: 'https://vendor.test' })
  expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([401, '*'])
  const preflight = await fetch(`${api.url}/v1/connect/check`, { method: 'OPTIONS', headers: { origin: 'https://vendor.test' } })
  expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([204, 'authorization, content-type'])
  for (const path of ['/v1/auth/me', '/v1/portal/projects', '/v1/edge/domains', '/healthz']) {
    expect((await api.call('GET', path, { headers: { origin: 'https://vendor.test' } })).headers).not.toHaveProperty(
      'access-control-allow-origin',
    )
  }
})

test('the open page hears when its record is found', async () => {
  const hostname = freshHostname()
  const token = await linkFor(hostname)
  const stopping = new AbortController()
  const response = await fetch(`${api.url}/v1/connect/events`, { headers: { authorization: `Connect ${token}` }, signal: stopping.signal })
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  await reader.read()
  api.dns.set(hostname, 'CNAME', EDGE_HOST)
  api.dns.set(hostname, 'A', EDGE_IP)
  await withLink(token, '/check', { method: 'POST' })
  let text = ''
  while (!text.includes('"verified":true')) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`the stream ended after ${text}`)
    text += value
  }
  stopping.abort()
  await reader.cancel().catch(() => {})
  expect(text).toContain(`event: domain\ndata: {"hostname":"${hostname}"`)
})

test('a page that stays open once all is done has nothing looked up', async () => {
  const hostname = freshHostname()
  const token = await linkFor(hostname)
  api.dns.set(hostname, 'CNAME', EDGE_HOST)
  api.dns.set(hostname, 'A', EDGE_IP)
  await withLink(token, '/check', { method: 'POST' })
  const ofHostname = `from domains d where d.id = p.domain_id and d.hostname = $1`
  const set = (what: string) => api.db.pool.query(`update probes p set ${what} ${ofHostname}`, [hostname])
  const stopping = new AbortController()
  const isWatched = async () => {
    await set(`watched_until = now(), next_probe_at = now() + interval '7 days'`)
    const stream = await openStream(token, stopping.signal)
    await stream.body!.getReader().read()
    const watched = `select from probes p, domains d where d.id = p.domain_id and d.hostname = $1
      and (watched_until > now() or next_probe_at < now() + interval '6 days')`
    return (await api.db.pool.query(watched, [hostname])).rowCount === 1
  }
  expect(await isWatched()).toBe(true) // its certificate is on its way
  await set('live_at = now()')
  expect(await isWatched()).toBe(false)
  await set(`state = 'wrong-target', live_at = null`)
  expect(await isWatched()).toBe(true)
  stopping.abort()
})

/** What holds the answer holds the stream: one that nothing holds is ended. */
function openStream(token: string, signal: AbortSignal, from = '198.51.100.1'): Promise<Response> {
  const headers = { authorization: `Connect ${token}`, 'x-forwarded-for': from }
  return fetch(`${api.url}/v1/connect/events`, { headers, signal })
}

/** Somebody who has signed in and made a project: `call` reaches that, and `openStream` opens its events as a page of the portal does. */
async function addOwner(from: string) {
  const person = createPerson(api, mail, 'ada@vendor.test', { 'x-forwarded-for': from })
  await person.signIn()
  const made = await person.call('POST', '/v1/portal/projects', { body: { name: 'Shop', upstreamUrl: 'https://app.vendor.test' } })
  const path = `/v1/portal/projects/${made.json<{ slug: string }>().slug}`
  const cookie = Array.from(person.cookies, ([name, value]) => `${name}=${value}`).join('; ')
  return {
    call: (method: string, below: string, body?: unknown) => person.call(method, path + below, body === undefined ? {} : { body }),
    async openStream(signal: AbortSignal): Promise<number> {
      return (await fetch(`${api.url}${path}/events`, { headers: { cookie, 'x-forwarded-for': from }, signal })).status
    },
  }
}

test('one place opens a hundred streams of news, with whatever links, and leaves room to others', async () => {
  const others = await Promise.all(Array.from({ length: 2 }, () => api.addTenant()))
  const stopping = new AbortController()
  const streams: Response[] = []
  for (let n = 0; n < 6; n += 1) {
    const token = await linkFor(freshHostname(), others[n % 2])
    streams.push(...(await Promise.all(Array.from({ length: 18 }, () => openStream(token, stopping.signal)))))
  }
  expect(streams.filter(({ status }) => status === 200)).toHaveLength(100)
  expect(await (await addOwner('198.51.100.1')).openStream(stopping.signal)).toBe(429) // the portal's pages are among the hundred
  expect((await openStream(await linkFor(freshHostname()), stopping.signal, '198.51.100.2')).status).toBe(200)
  stopping.abort()
})

test('all links of a project open 150 streams of news, from wherever, and the vendor still finds room', async () => {
  const owner = await addOwner('198.51.100.1')
  const stopping = new AbortController()
  const streams: Response[] = []
  const hostname = freshHostname()
  await owner.call('POST', '/domains', { hostname })
  for (let n = 0; n < 9; n += 1) {
    const token = new URL((await owner.call('POST', `/domains/${hostname}/link`)).json<{ url: string }>().url).hash.slice(1)
    streams.push(...(await Promise.all(Array.from({ length: 18 }, () => openStream(token, stopping.signal, `198.51.100.${2 + (n % 2)}`)))))
  }
  expect(streams.filter(({ status }) => status === 200)).toHaveLength(150)
  expect(await owner.openStream(stopping.signal)).toBe(200)
  stopping.abort()
})

test('one link opens twenty streams of news and no more, and another link still finds room', async () => {
  const [token, other] = [await linkFor(freshHostname()), await linkFor(freshHostname())]
  const stopping = new AbortController()
  const open = (by: string) => openStream(by, stopping.signal)
  const opened = await Promise.all(Array.from({ length: 22 }, () => open(token)))
  expect(opened.map(({ status }) => status).toSorted()).toEqual([...Array.from({ length: 20 }, () => 200), 429, 429])
  expect((await open(other)).status).toBe(200)
  stopping.abort()
  await expect
    .poll(async () => (await fetch(`${api.url}/v1/connect/events`, { headers: { authorization: `Connect ${token}` } })).status)
    .toBe(200)
})
