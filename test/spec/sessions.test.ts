import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApi, type TestApi } from '../support/api.ts'
import { createPerson, type Person } from '../support/browser-session.ts'
import { startMailServer, startMailWorker, type TestMail } from '../support/mail.ts'

let api: TestApi
let mail: TestMail
let worker: { stop(): Promise<void> }
let people = 0
beforeAll(async () => {
  api = await startTestApi()
  mail = await startMailServer()
  worker = await startMailWorker({ db: api.db, databaseUrl: api.databaseUrl, smtpUrl: mail.smtpUrl })
})
afterAll(async () => {
  await worker.stop()
  await mail.stop()
  await api.stop()
})

// Each from an address of their own, as behind a proxy that is trusted: else the limits of one would be those of all.
function person(email = `person-${++people}@vendor.test`): Person {
  people += 1
  return createPerson(api, mail, email, { 'x-forwarded-for': `198.51.${people >> 8}.${people & 255}` })
}

const COOKIE = '__Host-namesake_session'

describe('signing in', () => {
  test('a link in a mail opens a session once it is exchanged, and the user is told who they are', async () => {
    const ada = person()
    expect((await ada.call('GET', '/v1/auth/me')).json()).toMatchObject({ status: 401, code: 'session_required' })
    const answer = await ada.signIn()
    expect(answer.json()).toEqual({ email: ada.email, projects: [], signedInAt: expect.any(String) })
    expect((await ada.call('GET', '/v1/auth/me')).json()).toEqual(answer.json())
  })

  test('the cookie is for this host, over HTTPS, out of reach of scripts and of other sites', async () => {
    const answer = await person().signIn()
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^__Host-namesake_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
    ])
    expect(answer.headers['cache-control']).toBe('no-store')
  })

  test('on plain HTTP the cookie has neither the prefix nor Secure', async () => {
    const local = await startTestApi({ portal: { portalUrl: new URL('http://localhost:4000'), signup: 'open' } })
    const localWorker = await startMailWorker({ db: local.db, databaseUrl: local.databaseUrl, smtpUrl: mail.smtpUrl })
    const ada = createPerson(local, mail, 'plain@vendor.test', { origin: 'http://localhost:4000' })
    const answer = await ada.signIn()
    await localWorker.stop()
    await local.stop()
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^namesake_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/),
    ])
  })

  test('the answer is the same whether or not the address is known', async () => {
    const [known, unknown] = [person(), person()]
    await known.signIn()
    const ask = (who: Person) => who.call('POST', '/v1/auth/request-magic-link', { body: { email: who.email } })
    const [first, second] = [await ask(known), await ask(unknown)]
    expect([first.status, first.text]).toEqual([second.status, second.text])
    expect(first.json()).toEqual({ sent: true })
  })

  test('an address counts without its case', async () => {
    const ada = person(`Ada.${++people}@Vendor.Test`)
    expect((await ada.signIn()).json()).toMatchObject({ email: ada.email.toLowerCase() })
  })

  test.each([
    '',
    'ada',
    'ada@',
    'a b@vendor.test',
    'ada@vendor.test\r\nBcc: eve@evil.test',
    'ada@vendor.test, eve@evil.test',
    '<ada@vendor.test>',
  ])('%j is no address', async (email) => {
    const answer = await person().call('POST', '/v1/auth/request-magic-link', { body: { email } })
    expect(answer.json()).toMatchObject({ status: 400, code: 'email_invalid' })
  })
})

describe('a link', () => {
  test('works once', async () => {
    const ada = person()
    const token = await ada.askForLink()
    expect((await ada.call('POST', '/v1/auth/callback', { body: { token } })).status).toBe(200)
    expect((await ada.call('POST', '/v1/auth/callback', { body: { token } })).json()).toMatchObject({
      status: 401,
      code: 'magic_link_invalid',
    })
  })

  test('says whom it signs in as often as it is asked, without being spent, and no more once it is', async () => {
    const ada = person()
    const token = await ada.askForLink()
    const show = () => person().call('POST', '/v1/auth/magic-link', { body: { token } })
    for (let n = 0; n < 2; n++) {
      const shown = await show()
      expect([shown.status, shown.json(), shown.headers['cache-control']]).toEqual([200, { email: ada.email }, 'no-store'])
    }
    expect((await ada.call('POST', '/v1/auth/callback', { body: { token } })).status).toBe(200)
    expect((await show()).json()).toMatchObject({ status: 401, code: 'magic_link_invalid' })
  })

  test('gives one session, however many exchange it at the same time', async () => {
    const token = await person().askForLink()
    const browsers = Array.from({ length: 10 }, () => person())
    const answers = await Promise.all(browsers.map((browser) => browser.call('POST', '/v1/auth/callback', { body: { token } })))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 9 }, () => 401)])
  })

  test('is not spent where the database goes away in the middle of the sign-in, and the former session goes on until the next try', async () => {
    const ada = person()
    await ada.signIn()
    const token = await ada.askForLink()
    const signIn = () => ada.call('POST', '/v1/auth/callback', { body: { token } })
    const { rows: before } = await api.db.pool.query('select id from sessions where email = $1', [ada.email])
    await api.db.pool.query(`
      create function lose_the_database() returns trigger language plpgsql as
        'begin perform pg_terminate_backend(pg_backend_pid()); return old; end';
      create trigger lost before delete on sessions for each row execute function lose_the_database()`)
    expect((await signIn()).json()).toMatchObject({ status: 503, code: 'database_unavailable' })
    await api.db.pool.query('drop function lose_the_database cascade')
    expect((await ada.call('GET', '/v1/auth/me')).status).toBe(200)
    expect((await signIn()).json()).toMatchObject({ email: ada.email })
    const { rows: after } = await api.db.pool.query('select id from sessions where email = $1', [ada.email])
    expect([before.length, after.length, before[0].id === after[0].id]).toEqual([1, 1, false])
  })

  test('is over after 15 minutes', async () => {
    const ada = person()
    const token = await ada.askForLink()
    await api.db.pool.query(`update sign_in_links set expires_at = expires_at - interval '15 minutes' where email = $1`, [ada.email])
    for (const path of ['magic-link', 'callback']) {
      expect((await ada.call('POST', `/v1/auth/${path}`, { body: { token } })).json()).toMatchObject({ code: 'magic_link_invalid' })
    }
  })

  test('lives 15 minutes', async () => {
    const ada = person()
    await ada.askForLink()
    const { rows } = await api.db.pool.query(
      `select extract(epoch from expires_at - now())::float8 as left from sign_in_links where email = $1`,
      [ada.email],
    )
    expect(rows[0].left).toBeGreaterThan(14 * 60)
    expect(rows[0].left).toBeLessThanOrEqual(15 * 60)
  })

  test('a GET of its page spends nothing: there is no such route that exchanges', async () => {
    const ada = person()
    const token = await ada.askForLink()
    for (const method of ['GET', 'HEAD']) expect((await ada.call(method, '/v1/auth/callback')).status).toBe(405)
    expect((await ada.call('POST', '/v1/auth/callback', { body: { token } })).status).toBe(200)
  })

  const MANGLED: [string, (token: string) => string][] = [
    ['nothing', () => ''],
    ['the id alone', (token) => token.slice(0, 22)],
    ['a changed signature', (token) => `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`],
    ['a changed id', (token) => `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`],
    ['one letter less', (token) => token.slice(0, -1)],
    ['one letter more', (token) => `${token}A`],
    ['blanks around it', (token) => ` ${token} `],
    ['another link’s signature', (token) => `${token.slice(0, 22)}${'A'.repeat(42)}`],
    ['what no link has', () => '\u0000'.repeat(64)],
  ]
  test.each(MANGLED)('%s opens nothing, and the link still works after', async (_what, mangle) => {
    const ada = person()
    const token = await ada.askForLink()
    expect((await ada.call('POST', '/v1/auth/callback', { body: { token: mangle(token) } })).json()).toMatchObject({
      code: 'magic_link_invalid',
    })
    expect((await ada.call('POST', '/v1/auth/callback', { body: { token } })).status).toBe(200)
  })

  test('of another installation opens nothing', async () => {
    const { createLinkSigner } = await import('../../src/core/link-signer.ts')
    const ada = person()
    await ada.askForLink()
    const { rows } = await api.db.pool.query('select id from sign_in_links where email = $1', [ada.email])
    const token = createLinkSigner(['another secret of 32 bytes or more!!'], 'sign-in').tokenOf(rows[0].id)
    expect((await ada.call('POST', '/v1/auth/callback', { body: { token } })).json()).toMatchObject({ code: 'magic_link_invalid' })
  })

  test('stands in the database neither as token nor in a job', async () => {
    const ada = person()
    await api.db.pool.query('select 1')
    const token = await ada.askForLink()
    const { rows } = await api.db.pool.query(`select coalesce(string_agg(l::text, ' '), '') as text from sign_in_links l`)
    expect(rows[0].text).not.toContain(token)
    expect(rows[0].text).not.toContain(token.slice(22))
  })
})

describe('a session', () => {
  test('ends with sign-out, and the cookie opens nothing after', async () => {
    const ada = person()
    await ada.signIn()
    const kept = new Map(ada.cookies)
    expect((await ada.call('POST', '/v1/auth/sign-out')).status).toBe(204)
    expect(ada.cookies.has(COOKIE)).toBe(false)
    for (const [name, value] of kept) ada.cookies.set(name, value)
    expect((await ada.call('GET', '/v1/auth/me')).json()).toMatchObject({ status: 401, code: 'session_required' })
  })

  test('signing out without a session is no error', async () => {
    expect((await person().call('POST', '/v1/auth/sign-out')).status).toBe(204)
  })

  test('ends after 30 days', async () => {
    const ada = person()
    await ada.signIn()
    await api.db.pool.query(`update sessions set expires_at = expires_at - interval '30 days' where email = $1`, [ada.email])
    expect((await ada.call('GET', '/v1/auth/me')).status).toBe(401)
  })

  test('cannot be fixed beforehand: a sign-in makes a new one, and ends the one that the browser had', async () => {
    const [eve, ada] = [person(), person()]
    await eve.signIn()
    const planted = eve.cookies.get(COOKIE)!
    ada.cookies.set(COOKIE, planted)
    await ada.signIn()
    expect(ada.cookies.get(COOKIE)).not.toBe(planted)
    expect((await eve.call('GET', '/v1/auth/me')).status).toBe(401)
    expect((await ada.call('GET', '/v1/auth/me')).json()).toMatchObject({ email: ada.email })
  })

  test('a made-up cookie is none', async () => {
    const eve = person()
    for (const value of ['', 'x', 'a'.repeat(43), '%00', "' or 1=1 --", `${'a'.repeat(42)}=`]) {
      eve.cookies.set(COOKIE, value)
      expect((await eve.call('GET', '/v1/auth/me')).status).toBe(401)
    }
  })

  test('is stored as a hash only', async () => {
    const ada = person()
    await ada.signIn()
    const { rows } = await api.db.pool.query(`select string_agg(s::text, ' ') as text from sessions s`)
    expect(rows[0].text).not.toContain(ada.cookies.get(COOKIE))
  })
})

describe('requests from pages of other sites', () => {
  const FOREIGN: [string, Record<string, string>][] = [
    ['another origin', { origin: 'https://evil.test' }],
    ['a sibling of the portal', { origin: 'https://other.namesake.test' }],
    ['the portal over HTTP', { origin: 'http://portal.namesake.test' }],
    ['an opaque origin', { origin: 'null' }],
    ['what is no origin', { origin: 'portal.namesake.test' }],
    ['a browser that says so', { 'sec-fetch-site': 'cross-site' }],
  ]
  const CALLS = [
    ['POST', '/v1/auth/request-magic-link', { email: 'victim@vendor.test' }],
    ['POST', '/v1/auth/callback', { token: 'x' }],
    ['GET', '/v1/auth/me', undefined],
    ['POST', '/v1/auth/sign-out', undefined],
    ['GET', '/v1/portal/projects', undefined],
    ['POST', '/v1/portal/projects', { name: 'Stolen', upstreamUrl: 'https://evil.test' }],
    ['DELETE', '/v1/portal/projects/any/domains/shop.customer.test', undefined],
  ] as const
  test.each(FOREIGN)('%s is 403 everywhere, signed in or not', async (_what, headers) => {
    const ada = person()
    await ada.signIn()
    for (const [method, path, body] of CALLS) {
      const answer = await ada.call(method, path, { headers, ...(body && { body }) })
      expect(answer.json(), path).toMatchObject({ status: 403, code: 'cross_site' })
    }
    expect((await ada.call('GET', '/v1/auth/me')).status).toBe(200)
  })

  test('the own host is no other site, and neither is a client that says nothing of itself', async () => {
    const ada = person()
    await ada.signIn()
    const cookie = `${COOKIE}=${ada.cookies.get(COOKIE)}`
    expect((await api.call('GET', '/v1/auth/me', { headers: { cookie, origin: `http://127.0.0.1:${api.port}` } })).status).toBe(200)
    expect((await api.call('GET', '/v1/auth/me', { headers: { cookie } })).status).toBe(200)
  })

  test('a form of another site cannot sign in: only JSON is read', async () => {
    const headers = { 'content-type': 'text/plain' }
    expect((await api.call('POST', '/v1/auth/callback', { body: '{"token":"x"}', headers })).json()).toMatchObject({ status: 415 })
  })
})

test('where only who was invited may sign in, others get the same answer and no mail', async () => {
  const closed = await startTestApi({ portal: { signup: 'invited' } })
  const closedWorker = await startMailWorker({ db: closed.db, databaseUrl: closed.databaseUrl, smtpUrl: mail.smtpUrl })
  const { project } = await closed.addTenant()
  await closed.db.pool.query(`insert into members (project_id, email, role) values ($1, 'invited@vendor.test', 'owner')`, [project.id])
  const stranger = await closed.call('POST', '/v1/auth/request-magic-link', { body: { email: 'stranger@vendor.test' } })
  const invited = createPerson(closed, mail, 'invited@vendor.test')
  expect((await invited.signIn()).json()).toMatchObject({ projects: [{ slug: project.slug, role: 'owner' }] })
  const make = () => invited.call('POST', '/v1/portal/projects', { body: { name: 'Own', upstreamUrl: 'https://app.vendor.test' } })
  await closed.db.pool.query('delete from members')
  expect((await make()).json(), 'removed from the last project').toMatchObject({ status: 403, code: 'role_insufficient' })
  await closed.db.pool.query(`insert into members (project_id, email, role) values ($1, 'invited@vendor.test', 'member')`, [project.id])
  expect((await make()).status).toBe(200)
  await closedWorker.stop()
  await closed.stop()
  expect([stranger.status, stranger.json()]).toEqual([202, { sent: true }])
  expect(mail.received.some(({ to }) => to.includes('stranger@vendor.test'))).toBe(false)
})

test('an installation that cannot send mail says so instead of pretending', async () => {
  const mute = await startTestApi({ portal: { mail: 'none' } })
  const answer = await mute.call('POST', '/v1/auth/request-magic-link', { body: { email: 'ada@vendor.test' } })
  await mute.stop()
  expect(answer.json()).toMatchObject({ status: 503, code: 'mail_unavailable' })
  expect(answer.headers['retry-after'], 'waiting does not help').toBeUndefined()
})
