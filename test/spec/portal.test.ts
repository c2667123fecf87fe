import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OPERATOR } from '../../src/core/activity.ts'
import { inviteMember, removeMember } from '../../src/core/members.ts'
import { recordProbes } from '../../src/core/probes.ts'
import { startTestApi, type TestApi } from '../support/api.ts'
import { createPerson, type Person } from '../support/browser-session.ts'
import { startMailServer, startMailWorker, type TestMail, textOf } from '../support/mail.ts'
import { EDGE_HOST, freshHostname } from '../support/tenants.ts'

let api: TestApi
let mail: TestMail
let worker: { stop(): Promise<void> }
let ada: Person
let slug: string
let people = 0
beforeAll(async () => {
  api = await startTestApi()
  mail = await startMailServer()
  worker = await startMailWorker({ db: api.db, databaseUrl: api.databaseUrl, smtpUrl: mail.smtpUrl })
  ada = await signedIn()
  slug = await makeProject(ada)
})
afterAll(async () => {
  await worker.stop()
  await mail.stop()
  await api.stop()
})

function person(): Person {
  people += 1
  return createPerson(api, mail, `person-${people}@vendor.test`, { 'x-forwarded-for': `198.51.100.${people}` })
}

async function signedIn(): Promise<Person> {
  const who = person()
  await who.signIn()
  return who
}

async function makeProject(by: Person): Promise<string> {
  const name = `Shop ${randomBytes(4).toString('hex')}`
  const answer = await by.call('POST', '/v1/portal/projects', { body: { name, upstreamUrl: 'https://app.vendor.test' } })
  expect(answer.status).toBe(200)
  return answer.json<{ slug: string }>().slug
}

const at = (path = '') => `/v1/portal/projects/${slug}${path}`

async function memberOf(role: 'owner' | 'admin' | 'member'): Promise<Person> {
  const who = person()
  expect((await ada.call('POST', at('/members'), { body: { email: who.email, role } })).status).toBe(200)
  await mail.next(who.email)
  await who.signIn()
  return who
}

/** Begins to send a body; `finish` sends the rest and resolves with the status. */
function sendSlowly(who: Person, path: string, wanted: object) {
  const body = JSON.stringify(wanted)
  const cookie = Array.from(who.cookies, ([name, value]) => `${name}=${value}`).join('; ')
  const headers = { cookie, 'content-type': 'application/json', 'content-length': body.length }
  const sent = request(`${api.url}${path}`, { method: 'POST', headers, agent: false })
  sent.write(body.slice(0, 5))
  return async function finish() {
    sent.end(body.slice(5))
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    answer.resume()
    return answer.statusCode
  }
}

describe('projects', () => {
  test('whoever creates one owns it and sees it at once, without a fresh sign-in', async () => {
    const grace = await signedIn()
    const own = await makeProject(grace)
    expect((await grace.call('GET', `/v1/portal/projects/${own}`)).json()).toEqual({
      slug: own,
      name: expect.stringMatching(/^Shop /),
      role: 'owner',
      upstreamUrl: 'https://app.vendor.test',
      upstreamProtocol: 'http1',
      plan: { name: 'free', domainsMax: 3 },
      domains: 0,
      brand: { color: null, logoUrl: null },
      errorPage: null,
      cnameTarget: null,
      edgeHost: EDGE_HOST,
      createdAt: expect.any(String),
    })
    expect((await grace.call('GET', '/v1/portal/projects')).json<object[]>()).toHaveLength(1)
    expect((await grace.call('GET', '/v1/auth/me')).json()).toMatchObject({ projects: [{ slug: own, role: 'owner' }] })
  })

  test('the answer to a new upstream says what came back from it', async () => {
    const body = { name: 'Tried', upstreamUrl: 'https://app.vendor.test' }
    const made = await ada.call('POST', '/v1/portal/projects', { body })
    expect(made.json()).toMatchObject({ upstreamCheck: { kind: 'answered', status: 200 } })
  })

  test.each([
    [{ name: '', upstreamUrl: 'https://a.test' }, 'name_invalid'],
    [{ name: 'A', upstreamUrl: 'https://a.test/path' }, 'upstream_invalid'],
    [{ name: 'A', slug: 'A B', upstreamUrl: 'https://a.test' }, 'slug_invalid'],
    [{ name: 'A', upstreamUrl: 'https://a.test', upstreamProtocol: 'h2c' }, 'upstream_invalid'],
    [{ name: 'A', upstreamUrl: 'https://a.test', upstreamProtocol: 'h3' }, 'body_invalid'],
    [{ name: 'A' }, 'body_invalid'],
    [{ name: 'A', upstreamUrl: 'https://a.test', plan: 'unlimited' }, 'body_invalid'],
  ])('%j is %s', async (body, code) => {
    expect((await ada.call('POST', '/v1/portal/projects', { body })).json()).toMatchObject({ status: 400, code })
  })

  test('a slug that is taken is 409', async () => {
    const body = { name: 'Again', slug, upstreamUrl: 'https://a.test' }
    expect((await ada.call('POST', '/v1/portal/projects', { body })).json()).toMatchObject({ status: 409, code: 'slug_taken' })
  })

  test('a change keeps what it does not name, and null takes a brand away', async () => {
    const own = await makeProject(ada)
    const change = (body: object) => ada.call('PATCH', `/v1/portal/projects/${own}`, { body })
    const branded = await change({ name: 'Renamed', brand: { color: '#1A56C4', logoUrl: 'https://vendor.test/logo.svg' } })
    expect(branded.json()).toMatchObject({ name: 'Renamed', upstreamUrl: 'https://app.vendor.test', brand: { color: '#1a56c4' } })
    expect(branded.json()).not.toHaveProperty('upstreamCheck')
    expect((await change({ brand: { color: null } })).json()).toMatchObject({
      brand: { color: null, logoUrl: 'https://vendor.test/logo.svg' },
    })
    expect((await change({ upstreamUrl: 'https://new.vendor.test' })).json()).toMatchObject({ upstreamCheck: { kind: 'answered' } })
    const unchanged = await ada.call('PATCH', `/v1/portal/projects/${own}`)
    expect(unchanged.json()).toMatchObject({ name: 'Renamed', upstreamUrl: 'https://new.vendor.test' })
    const logos = ['javascript:alert(1)', 'http://a.test/x.png', 'https://a.test/\ud800.png', 'https://a.test/\u0000.png']
    for (const brand of [{ color: 'red' }, { color: '' }, ...logos.map((logoUrl) => ({ logoUrl }))]) {
      expect((await change({ brand })).json()).toMatchObject({ status: 400, code: 'brand_invalid' })
    }
  })

  test('of two changes to what was seen before both, the first holds and the other is 412; without If-Match all hold', async () => {
    const own = `/v1/portal/projects/${await makeProject(ada)}`
    const domain = `${own}/domains/${freshHostname()}`
    await ada.call('POST', `${own}/domains`, { body: { hostname: domain.split('/').at(-1), metadata: { n: 0 } } })
    for (const [path, bodyOf] of [
      [own, (n: number) => ({ name: `Named ${n}` })],
      [domain, (n: number) => ({ metadata: { n } })],
    ] as const) {
      const change = (n: number, tag?: string) =>
        ada.call('PATCH', path, { body: bodyOf(n), ...(tag !== undefined && { headers: { 'if-match': tag } }) })
      const tagOf = ({ headers }: { headers: Record<string, unknown> }) => headers.etag as string
      const seen = tagOf(await ada.call('GET', path))
      expect(seen).toMatch(/^"[0-9a-f]{32}"$/)
      const both = await Promise.all([change(1, seen), change(2, seen)])
      expect(both.map(({ status }) => status).sort()).toEqual([200, 412])
      const [held, refused] = both.toSorted((a, b) => a.status - b.status)
      expect(refused!.json()).toMatchObject({ code: 'changed_meanwhile', detail: expect.stringContaining('read it again') })
      const now = tagOf(await ada.call('GET', path))
      expect([tagOf(held!), now === seen]).toEqual([now, false])
      for (const tag of [seen, `W/${now}`, '"nothing"', '', now.slice(1, -1)]) expect((await change(3, tag)).status, tag).toBe(412)
      expect((await change(3, `"nothing", ${now}`)).status).toBe(200)
      expect((await change(4, '*')).json()).toMatchObject(bodyOf(4))
      expect((await change(5)).json()).toMatchObject(bodyOf(5))
    }
  })

  test('of two changes to the role that a member was seen with, the first holds and the other is 412; without If-Match all hold', async () => {
    const members = `/v1/portal/projects/${await makeProject(ada)}/members`
    const { etag: seen } = (await ada.call('POST', members, { body: { email: 'seen@vendor.test', role: 'member' } })).json<{
      etag: string
    }>()
    const change = (role: string, tag?: string) =>
      ada.call('PATCH', `${members}/seen@vendor.test`, { body: { role }, ...(tag && { headers: { 'if-match': tag } }) })
    const both = await Promise.all([change('admin', seen), change('owner', seen)])
    const [held, refused] = both.toSorted((a, b) => a.status - b.status)
    expect([held!.status, refused!.status, refused!.json()]).toMatchObject([200, 412, { code: 'changed_meanwhile' }])
    const { role, etag: now } = held!.json<{ role: string; etag: string }>()
    expect((await ada.call('GET', members)).json()).toContainEqual(expect.objectContaining({ email: 'seen@vendor.test', role, etag: now }))
    expect((await change(role, seen)).status).toBe(200) // it is so already
    expect((await change('member', now)).json()).toMatchObject({ role: 'member', etag: seen })
    expect((await change('owner')).json()).toMatchObject({ role: 'owner' })
  })

  test('what changes of a domain or project by itself is no change to those who save it', async () => {
    const own = `/v1/portal/projects/${await makeProject(ada)}`
    const hostname = freshHostname()
    const tagOf = async (path: string) => (await ada.call('GET', path)).headers.etag
    const before = await tagOf(own)
    await ada.call('POST', `${own}/domains`, { body: { hostname, metadata: {} } })
    expect(await tagOf(own)).toBe(before)
    const seen = await tagOf(`${own}/domains/${hostname}`)
    expect((await ada.call('POST', `${own}/domains/${hostname}/check`)).headers.etag).toBe(seen)
  })

  test('a CNAME target is set once its record leads to the edge host, shown, and taken away by null', async () => {
    const own = `/v1/portal/projects/${await makeProject(ada)}`
    const change = (cnameTarget: unknown) => ada.call('PATCH', own, { body: { cnameTarget } })
    const target = freshHostname('vendor.test')
    expect((await change(target)).json()).toMatchObject({
      status: 400,
      code: 'cname_target_invalid',
      detail: expect.stringContaining(`${target} CNAME ${EDGE_HOST}`),
    })
    expect((await change(EDGE_HOST)).json()).toMatchObject({ status: 400, code: 'hostname_reserved' })
    expect((await change('a b')).json()).toMatchObject({ status: 400, code: 'hostname_invalid' })
    expect((await change(7)).json()).toMatchObject({ status: 400, code: 'body_invalid' })
    expect((await ada.call('GET', own)).json()).toMatchObject({ cnameTarget: null, edgeHost: EDGE_HOST })
    api.dns.set(target, 'CNAME', EDGE_HOST)
    expect((await change(target.toUpperCase())).json()).toMatchObject({ cnameTarget: target, edgeHost: EDGE_HOST })
    const listed = (await ada.call('GET', '/v1/portal/projects')).json<{ slug: string; cnameTarget: string | null }[]>()
    expect(listed.filter(({ cnameTarget }) => cnameTarget === target)).toHaveLength(1)
    expect((await change(null)).json()).toMatchObject({ cnameTarget: null })
  })

  test('only an empty project can be deleted; then its tokens are refused and it is gone', async () => {
    const own = await makeProject(ada)
    const project = `/v1/portal/projects/${own}`
    const { token } = (await ada.call('POST', `${project}/tokens`, { body: {} })).json<{ token: string }>()
    const hostname = freshHostname()
    await ada.call('POST', `${project}/domains`, { body: { hostname } })
    expect((await ada.call('DELETE', project)).json()).toMatchObject({ status: 409, code: 'project_not_empty' })
    await ada.call('DELETE', `${project}/domains/${hostname}`)
    expect((await ada.call('DELETE', project)).status).toBe(204)
    expect((await ada.call('GET', project)).json()).toMatchObject({ status: 404, code: 'project_not_found' })
    expect((await api.call('GET', '/v1/edge/domains', { headers: { authorization: `Bearer ${token}` } })).status).toBe(401)
  })
})

describe('membership is fixed at sign-in', () => {
  test('invited on another browser, the project is not visible; signed in again, it is', async () => {
    const grace = await signedIn()
    const invited = await ada.call('POST', at('/members'), { body: { email: grace.email.toUpperCase(), role: 'member' } })
    expect(invited.json()).toMatchObject({ email: grace.email, role: 'member', joinedAt: null })
    expect(textOf(await mail.next(grace.email))).toContain('https://portal.namesake.test/sign-in')
    expect((await grace.call('GET', at())).json()).toMatchObject({ status: 404, code: 'project_not_found' })
    expect((await grace.call('GET', '/v1/portal/projects')).json()).toEqual([])
    await grace.signIn()
    expect((await grace.call('GET', at())).json()).toMatchObject({ slug, role: 'member' })
    const members = (await ada.call('GET', at('/members'))).json<{ email: string; joinedAt: string | null }[]>()
    expect(members.find(({ email }) => email === grace.email)!.joinedAt).not.toBeNull()
  })

  test('a membership that ends is over in every session at once, and comes back with a sign-in only', async () => {
    const grace = await memberOf('member')
    await ada.call('DELETE', at(`/members/${encodeURIComponent(grace.email)}`))
    expect((await grace.call('GET', at())).status).toBe(404)
    await ada.call('POST', at('/members'), { body: { email: grace.email, role: 'member' } })
    await mail.next(grace.email)
    expect((await grace.call('GET', at())).status).toBe(404)
    await grace.signIn()
    expect((await grace.call('GET', at())).status).toBe(200)
  })

  test('a project of others and one that does not exist look the same', async () => {
    const grace = await signedIn()
    const [others, none] = [await grace.call('GET', at()), await grace.call('GET', '/v1/portal/projects/none')]
    expect([others.status, others.json().code]).toEqual([none.status, none.json().code])
  })
})

describe('members and roles', () => {
  test('nobody is sent more than five invitations in a quarter of an hour', async () => {
    const invite = async (email: string) => (await ada.call('POST', at('/members'), { body: { email, role: 'member' } })).status
    const statuses: number[] = []
    for (let n = 0; n < 6; n += 1) statuses.push(await invite('someone@elsewhere.test'))
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
    expect(await invite('another@elsewhere.test')).toBe(200)
    for (const email of ['someone@elsewhere.test', 'another@elsewhere.test']) await ada.call('DELETE', at(`/members/${email}`))
  })

  test('a text that no database holds is malformed', async () => {
    for (const path of [at('/tokens/%00'), '/v1/portal/projects/a%00b'])
      expect((await ada.call(path.includes('tokens') ? 'DELETE' : 'GET', path)).json()).toMatchObject({
        status: 400,
        code: 'request_malformed',
      })
  })

  const REFUSED: ['member' | 'admin', string, string, object | undefined][] = [
    ['member', 'POST', '/tokens', {}],
    ['member', 'DELETE', '/tokens/1', undefined],
    ['member', 'POST', '/members', { email: 'x@vendor.test', role: 'member' }],
    ['member', 'PATCH', '', { name: 'No' }],
    ['member', 'DELETE', '', undefined],
    ['admin', 'POST', '/members', { email: 'x@vendor.test', role: 'owner' }],
    ['admin', 'DELETE', '', undefined],
  ]
  test('what a role may not do is 403, and what it may is not', async () => {
    const people = { member: await memberOf('member'), admin: await memberOf('admin') }
    for (const [role, method, path, body] of REFUSED) {
      const answer = await people[role].call(method, at(path), body ? { body } : {})
      expect(answer.json(), `${role} ${method} ${path}`).toMatchObject({ status: 403, code: 'role_insufficient' })
    }
    for (const path of ['', '/tokens', '/members', '/domains', '/activity'])
      expect((await people.member.call('GET', at(path))).status).toBe(200)
    const hostname = freshHostname()
    expect((await people.member.call('POST', at('/domains'), { body: { hostname } })).status).toBe(200)
    expect((await people.member.call('DELETE', at(`/domains/${hostname}`))).status).toBe(204)
    expect((await people.admin.call('PATCH', at(), { body: { name: 'By an admin' } })).status).toBe(200)
    const owner = encodeURIComponent(ada.email)
    expect((await people.admin.call('DELETE', at(`/members/${owner}`))).json()).toMatchObject({ code: 'role_insufficient' })
    expect((await people.admin.call('PATCH', at(`/members/${owner}`), { body: { role: 'member' } })).json()).toMatchObject({
      code: 'role_insufficient',
    })
    expect((await people.member.call('DELETE', at(`/members/${encodeURIComponent(people.member.email)}`))).status).toBe(204)
  })

  test('who is removed while they send a body has nothing done with it', async () => {
    const admin = await memberOf('admin')
    const wanted = [
      sendSlowly(admin, at('/members'), { email: 'friend@vendor.test', role: 'admin' }),
      sendSlowly(admin, at('/tokens'), { name: 'backdoor' }),
      sendSlowly(admin, at('/domains'), { hostname: freshHostname() }),
    ]
    await sleep(1_100)
    expect((await ada.call('DELETE', at(`/members/${admin.email}`))).status).toBe(204)
    expect(await Promise.all(wanted.map((finish) => finish()))).toEqual([404, 404, 404])
    expect((await ada.call('GET', at('/members'))).text).not.toContain('friend@vendor.test')
  })

  test('whose role is taken while they send a body has it no more', async () => {
    const admin = await memberOf('admin')
    const finish = sendSlowly(admin, at('/tokens'), { name: 'backdoor' })
    await sleep(1_100)
    await ada.call('PATCH', at(`/members/${admin.email}`), { body: { role: 'member' } })
    expect(await finish()).toBe(403)
  })

  test('the last owner stays, also when two leave at the same time', async () => {
    const own = await makeProject(ada)
    const path = (who: Person) => `/v1/portal/projects/${own}/members/${encodeURIComponent(who.email)}`
    expect((await ada.call('DELETE', path(ada))).json()).toMatchObject({ status: 409, code: 'last_owner' })
    expect((await ada.call('PATCH', path(ada), { body: { role: 'admin' } })).json()).toMatchObject({ status: 409, code: 'last_owner' })
    const grace = person()
    await ada.call('POST', `/v1/portal/projects/${own}/members`, { body: { email: grace.email, role: 'owner' } })
    await mail.next(grace.email)
    await grace.signIn()
    const answers = await Promise.all([ada.call('DELETE', path(ada)), grace.call('DELETE', path(grace))])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 409])
  })

  test('who is no member is 404, and what is no address 400', async () => {
    expect((await ada.call('DELETE', at('/members/nobody%40vendor.test'))).json()).toMatchObject({ status: 404, code: 'member_not_found' })
    expect((await ada.call('PATCH', at('/members/nobody'), { body: { role: 'admin' } })).json()).toMatchObject({ code: 'email_invalid' })
  })
})

describe('tokens', () => {
  test('the raw token is returned once; listings show its hash, its name and its last use', async () => {
    const issued = (await ada.call('POST', at('/tokens'), { body: { name: 'CI' } })).json<{ id: string; token: string; preview: string }>()
    expect(issued.token).toMatch(/^svc_[a-f0-9]{64}$/)
    const listed = await ada.call('GET', at('/tokens'))
    expect(listed.text).not.toContain(issued.token)
    expect(listed.json<{ id: string }[]>().find(({ id }) => id === issued.id)).toMatchObject({
      name: 'CI',
      preview: issued.preview,
      revokedAt: null,
    })
  })

  test.each<Record<string, string>>([{}, { 'content-type': 'application/json' }])(
    'no body is needed to issue one (%j)',
    async (headers) => {
      const issued = await ada.call('POST', at('/tokens'), { headers })
      expect([issued.status, issued.json<{ token: string }>().token]).toEqual([200, expect.stringMatching(/^svc_/)])
    },
  )

  test('a hundred an hour, in whichever projects', async () => {
    const who = await signedIn()
    const paths = [await makeProject(who), await makeProject(who)].map((own) => `/v1/portal/projects/${own}/tokens`)
    const statuses: number[] = []
    for (let n = 0; n < 101; n += 1) statuses.push((await who.call('POST', paths[n % 2]!, { body: {} })).status)
    expect(statuses).toEqual([...Array.from({ length: 100 }, () => 200), 429])
  })

  test('null is a body, and not what issues one', async () => {
    expect((await ada.call('POST', at('/tokens'), { body: null })).json()).toMatchObject({ status: 400, code: 'body_invalid' })
  })

  test('a revoked token is refused by the very next request', async () => {
    const issued = (await ada.call('POST', at('/tokens'), { body: {} })).json<{ id: string; token: string }>()
    const headers = { authorization: `Bearer ${issued.token}` }
    expect((await api.call('GET', '/v1/edge/domains', { headers })).status).toBe(200)
    expect((await ada.call('DELETE', at(`/tokens/${issued.id}`))).status).toBe(204)
    expect((await api.call('GET', '/v1/edge/domains', { headers })).status).toBe(401)
    expect((await ada.call('DELETE', at('/tokens/999999'))).json()).toMatchObject({ status: 404, code: 'token_not_found' })
  })
})

describe('domains: one verb, two doors', () => {
  test('what is registered in the portal is what the token sees, byte for byte', async () => {
    const tenant = await api.addTenant()
    const path = `/v1/portal/projects/${tenant.project.slug}/domains`
    const hostname = freshHostname()
    const body = `{"hostname":"${hostname}","metadata":{"b":1.0,"a":{"__proto__":[]}}}`
    const registered = await tenant.call('POST', path, { body })
    expect(registered.text).toContain('{"b":1.0,"a":{"__proto__":[]}}')
    expect((await tenant.call('GET', '/v1/edge/domains')).text).toBe(`[${registered.text}]`)
    expect((await tenant.call('GET', path)).text).toBe(`[${registered.text}]`)
    const [details, mirrored] = [await tenant.call('GET', `/v1/edge/domains/${hostname}`), await tenant.call('GET', `${path}/${hostname}`)]
    expect(mirrored.json()).toEqual({ ...details.json(), status: 'waiting-for-dns' })
    expect((await tenant.call('DELETE', `${path}/${hostname}`)).status).toBe(204)
    expect((await tenant.call('DELETE', `${path}/${hostname}`)).status).toBe(404)
  })

  test('409 and 402 hold in the portal too', async () => {
    const other = await api.addTenant()
    const hostname = freshHostname()
    await other.call('POST', '/v1/edge/domains', { body: { hostname } })
    const own = await makeProject(ada)
    const register = (name: string) => ada.call('POST', `/v1/portal/projects/${own}/domains`, { body: { hostname: name } })
    for (let n = 0; n < 3; n += 1) expect((await register(freshHostname())).status).toBe(200)
    expect((await register(hostname)).json()).toMatchObject({ status: 409, code: 'hostname_claimed' })
    expect((await register(freshHostname())).json()).toMatchObject({ status: 402, code: 'plan_limit' })
  })

  test("another project's token is 401, whether or not the project exists; it opens nothing but domains", async () => {
    const tenant = await api.addTenant()
    const calls: [string, string][] = [
      ['GET', '/domains'],
      ['POST', '/domains/bulk'],
      ['GET', '/domains/shop.customer.test'],
      ['DELETE', '/domains/shop.customer.test'],
    ]
    for (const [method, path] of calls) {
      expect((await tenant.call(method, at(path))).json(), path).toMatchObject({ status: 401, code: 'token_invalid' })
      expect((await tenant.call(method, `/v1/portal/projects/none${path}`)).json()).toMatchObject({ status: 401, code: 'token_invalid' })
    }
    for (const path of ['', '/tokens', '/members', '/activity', '/events']) {
      const answer = await tenant.call('GET', `/v1/portal/projects/${tenant.project.slug}${path}`)
      expect(answer.json(), path).toMatchObject({ status: 401, code: 'session_required' })
    }
  })

  test('PATCH replaces the metadata, and changes nothing when it is refused', async () => {
    const hostname = freshHostname()
    await ada.call('POST', at('/domains'), { body: { hostname, metadata: { a: 1, b: 2 } } })
    const change = (body: string) => ada.call('PATCH', at(`/domains/${hostname}`), { body })
    expect((await change('{"metadata":{"z":1e2,"a":3}}')).text).toContain('"metadata":{"z":1e2,"a":3}')
    expect((await change('{"metadata":{"n":9007199254740999}}')).json()).toMatchObject({ code: 'metadata_invalid' })
    expect((await change('{}')).json()).toMatchObject({ code: 'body_invalid' })
    expect((await ada.call('GET', at(`/domains/${hostname}`))).json()).toMatchObject({ metadata: { z: 100, a: 3 } })
    expect((await ada.call('PATCH', at(`/domains/${freshHostname()}`), { body: { metadata: {} } })).json()).toMatchObject({
      code: 'domain_not_found',
    })
    await ada.call('DELETE', at(`/domains/${hostname}`))
  })

  test('of many at once, each says what became of it', async () => {
    const tenant = await api.addTenant()
    const other = await api.addTenant()
    const [held, taken, fresh] = [freshHostname(), freshHostname(), freshHostname()]
    await tenant.call('POST', '/v1/edge/domains', { body: { hostname: held } })
    await other.call('POST', '/v1/edge/domains', { body: { hostname: taken } })
    const hostnames = [`${held.toUpperCase()}.`, taken, fresh, `${fresh}.`, 'not a name', 'edge.namesake.test']
    const answer = await tenant.call('POST', `/v1/portal/projects/${tenant.project.slug}/domains/bulk`, { body: { hostnames } })
    expect(answer.json()).toEqual({
      results: [
        { hostname: `${held.toUpperCase()}.`, outcome: 'exists' },
        { hostname: taken, outcome: 'refused', code: 'hostname_claimed', detail: expect.any(String) },
        { hostname: fresh, outcome: 'claimed' },
        { hostname: `${fresh}.`, outcome: 'exists' },
        { hostname: 'not a name', outcome: 'refused', code: 'hostname_invalid', detail: expect.any(String) },
        { hostname: 'edge.namesake.test', outcome: 'refused', code: 'hostname_reserved', detail: expect.any(String) },
      ],
    })
    const many = Array.from({ length: 1_001 }, () => 'a.customer.test')
    const tooMany = await tenant.call('POST', `/v1/portal/projects/${tenant.project.slug}/domains/bulk`, { body: { hostnames: many } })
    expect(tooMany.json()).toMatchObject({ code: 'body_invalid' })
  })

  test('of many at once, none is asked for behind the one that the plan has no room for', async () => {
    const own = await makeProject(ada)
    const hostnames = Array.from({ length: 6 }, freshHostname)
    const claimed = async () =>
      (await ada.call('POST', `/v1/portal/projects/${own}/domains/bulk`, { body: { hostnames } })).json<{
        results: { outcome: string }[]
      }>()
    expect((await claimed()).results.map(({ outcome }) => outcome)).toEqual([
      'claimed',
      'claimed',
      'claimed',
      'refused',
      'refused',
      'refused',
    ])
    expect((await claimed()).results.map(({ outcome }) => outcome)).toEqual(['exists', 'exists', 'exists', 'refused', 'refused', 'refused'])
  })

  test('two lists of a project are claimed at a time, and what somebody who hangs up had left is not', async () => {
    const tenant = await api.addTenant()
    const path = `/v1/portal/projects/${tenant.project.slug}/domains`
    const list = () => ({ body: { hostnames: Array.from({ length: 1_000 }, freshHostname) } })
    const statuses = await Promise.all(Array.from({ length: 4 }, async () => (await tenant.call('POST', `${path}/bulk`, list())).status))
    expect(statuses.toSorted()).toEqual([200, 200, 429, 429])
    const headers = { authorization: `Bearer ${tenant.token}`, 'content-type': 'application/json' }
    const { hostnames } = list().body
    const hungUp = fetch(`${api.url}${path}/bulk`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ hostnames }),
      signal: AbortSignal.timeout(100),
    })
    await expect(hungUp).rejects.toThrow()
    const short = async () => (await tenant.call('POST', `${path}/bulk`, { body: { hostnames: [freshHostname()] } })).status
    await expect.poll(() => Promise.all([short(), short()])).toEqual([200, 200]) // both places are free
    expect((await tenant.call('GET', `${path}/${hostnames.at(-1)}`)).status).toBe(404)
  })

  test('of a list whose bringer is removed from the project meanwhile, nothing more is claimed', async () => {
    const tenant = await api.addTenant()
    const who = person()
    const change = { project: tenant.project, actor: OPERATOR, role: 'operator' as const }
    await inviteMember(api.db, change, { email: who.email, role: 'member' })
    await mail.next(who.email)
    await who.signIn()
    const path = `/v1/portal/projects/${tenant.project.slug}/domains`
    const hostnames = Array.from({ length: 1_000 }, freshHostname)
    const claimed = who.call('POST', `${path}/bulk`, { body: { hostnames } })
    await expect.poll(async () => (await tenant.call('GET', `${path}/${hostnames[0]}`)).status).toBe(200)
    await removeMember(api.db, change, who.email)
    expect((await claimed).json()).toMatchObject({ status: 404, code: 'project_not_found' })
    expect((await tenant.call('GET', `${path}/${hostnames.at(-1)}`)).status).toBe(404)
  })

  test('a list comes in pages, with the status where it is asked for', async () => {
    const tenant = await api.addTenant()
    const path = `/v1/portal/projects/${tenant.project.slug}/domains`
    const hostnames = [freshHostname(), freshHostname(), freshHostname()]
    await tenant.call('POST', `${path}/bulk`, { body: { hostnames } })
    const page = await tenant.call('GET', `${path}?limit=2&details=status`)
    expect(page.json<object[]>()).toMatchObject([{ status: 'waiting-for-dns' }, { status: 'waiting-for-dns' }])
    const next = /<([^>]+)>; rel="next"/.exec(String(page.headers.link))![1]!
    expect(next).toContain(path)
    const rest = await tenant.call('GET', new URL(next).pathname + new URL(next).search)
    expect(rest.json<object[]>()).toHaveLength(1)
  })
})

describe('activity', () => {
  test('names who did what, newest first, in pages', async () => {
    const own = await makeProject(ada)
    const project = `/v1/portal/projects/${own}`
    const { token } = (await ada.call('POST', `${project}/tokens`, { body: { name: 'CI' } })).json<{ token: string }>()
    const hostname = freshHostname()
    const headers = { authorization: `Bearer ${token}` }
    await api.call('POST', '/v1/edge/domains', { body: { hostname }, headers })
    await api.call('POST', '/v1/edge/domains', { body: { hostname }, headers }) // changes nothing, says nothing
    await api.call('POST', '/v1/edge/domains', { body: { hostname, metadata: { a: 1 } }, headers })
    await ada.call('DELETE', `${project}/domains/${hostname}`)
    const user = { kind: 'user', email: ada.email }
    const program = { kind: 'token', name: 'CI', preview: expect.stringMatching(/^sha256:[0-9a-f]{12}…$/) }
    const entries = (await ada.call('GET', `${project}/activity`)).json<object[]>()
    expect(entries).toMatchObject([
      { actor: user, action: 'domain.removed', subject: hostname },
      { actor: program, action: 'domain.metadata-changed', subject: hostname },
      { actor: program, action: 'domain.claimed', subject: hostname },
      { actor: user, action: 'token.issued', subject: 'CI' },
      { actor: user, action: 'project.created', subject: own },
    ])
    const first = await ada.call('GET', `${project}/activity?limit=3`)
    const next = new URL(/<([^>]+)>/.exec(String(first.headers.link))![1]!)
    const second = await ada.call('GET', next.pathname + next.search)
    expect([...first.json<object[]>(), ...second.json<object[]>()]).toEqual(entries)
  })

  test('is written with the change or not at all', async () => {
    const own = await makeProject(ada)
    const project = `/v1/portal/projects/${own}`
    const before = (await ada.call('GET', `${project}/activity`)).text
    await api.db.pool.query(
      `alter table activity add constraint nothing_more check (action <> 'token.issued' and action <> 'domain.claimed') not valid`,
    )
    const hostname = freshHostname()
    const answers = [
      await ada.call('POST', `${project}/tokens`, { body: {} }),
      await ada.call('POST', `${project}/domains`, { body: { hostname } }),
    ]
    await api.db.pool.query('alter table activity drop constraint nothing_more')
    expect(answers.map(({ status }) => status)).toEqual([500, 500])
    expect((await ada.call('GET', `${project}/tokens`)).json()).toEqual([])
    expect((await ada.call('GET', `${project}/domains`)).json()).toEqual([])
    expect((await ada.call('GET', `${project}/activity`)).text).toBe(before)
  })
})

describe('an open page', () => {
  test('hears of its domains and of nobody else’s, and of the activity', async () => {
    const own = await makeProject(ada)
    const stream = await watch(own)
    const [hostname, elsewhere] = [freshHostname(), freshHostname()]
    await ada.call('POST', at('/domains'), { body: { hostname: elsewhere } })
    await ada.call('POST', `/v1/portal/projects/${own}/domains`, { body: { hostname } })
    expect(await stream.next('domain')).toMatchObject({ hostname, removed: false, verified: false, status: 'waiting-for-dns' })
    expect(await stream.next('activity')).toEqual({})
    await foundInDns(hostname, 'wrong-target')
    expect(await stream.next('domain')).toMatchObject({ hostname, status: 'wrong-record' })
    await foundInDns(hostname, 'verified')
    expect(await stream.next('domain')).toMatchObject({ hostname, verified: true, verifiedAt: expect.any(String) })
    await ada.call('DELETE', `/v1/portal/projects/${own}/domains/${hostname}`)
    expect(await stream.next('domain')).toEqual({ hostname, removed: true })
    await stream.stop()
    await ada.call('DELETE', at(`/domains/${elsewhere}`))
  })

  test('is sent away to come back where the feed breaks off, as it does when a standby takes over', async () => {
    const stream = await watch(await makeProject(ada))
    await api.db.pool.query('update feed set life = gen_random_uuid()')
    await expect(stream.next('domain')).rejects.toThrow('terminated')
  })

  test('is for members: others are 404, and who is not signed in 401', async () => {
    const grace = await signedIn()
    expect((await grace.call('GET', at('/events'))).status).toBe(404)
    expect((await api.call('GET', at('/events'))).status).toBe(401)
  })
})

/** What a browser's EventSource reads; heartbeats and `retry` left out. */
async function watch(project: string) {
  const stopping = new AbortController()
  const cookie = Array.from(ada.cookies, ([name, value]) => `${name}=${value}`).join('; ')
  const response = await fetch(`${api.url}/v1/portal/projects/${project}/events`, { headers: { cookie }, signal: stopping.signal })
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const events: { event: string; data: object }[] = []
  await reader.read() // the watch stands
  return {
    async next(event: string): Promise<object> {
      for (;;) {
        const index = events.findIndex((candidate) => candidate.event === event)
        if (index >= 0) return events.splice(index, 1)[0]!.data
        const { value, done } = await reader.read()
        if (done) throw new Error(`the stream ended before an event ${event}`)
        text += value
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const parts = /^event: (\w+)\ndata: (.*)$/.exec(text.slice(0, end))
          if (parts) events.push({ event: parts[1]!, data: JSON.parse(parts[2]!) as object })
          text = text.slice(end + 2)
        }
      }
    },
    async stop() {
      stopping.abort()
      await reader.cancel().catch(() => {})
    },
  }
}

/** As the background check writes down what it found. */
async function foundInDns(hostname: string, state: 'wrong-target' | 'verified'): Promise<void> {
  const { rows } = await api.db.pool.query(
    `select id as "domainId", hostname, project_id as "projectId", false as verified, '' as proof, false as "proofNeeded", 0 as failures
     from domains where hostname = $1 and deleted_at is null`,
    [hostname],
  )
  const report = { state, sentence: '', expected: [], found: [], warnings: [], checkedAt: new Date().toISOString() }
  await recordProbes(api.db, [{ probe: rows[0], report, nextProbeInS: 300 }])
}
