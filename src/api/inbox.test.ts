import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApi, type TestApi } from '../../test/support/api.ts'
import { keepMail } from '../core/kept-mails.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi({
    portal: { mail: 'kept', baseUrl: new URL('http://localhost:4000'), portalUrl: new URL('http://localhost:4000') },
  })
  const link = 'http://localhost:4000/sign-in/confirm#token=abc'
  await keepMail(api.db, { to: 'ada@vendor.test', subject: '<b>Sign in</b>', text: `Open:\n${link}\n<script>`, html: '<p>' })
})
afterAll(() => api.stop())

async function get(host: string, more: Record<string, string> = {}): Promise<{ status: number; body: string; policy: string | undefined }> {
  const { promise, resolve } = Promise.withResolvers<{ status: number; body: string; policy: string | undefined }>()
  const sent = request({ host: '127.0.0.1', port: api.port, path: '/inbox', headers: { host, ...more }, agent: false }, (response) => {
    const policy = response.headers['content-security-policy'] as string | undefined
    void text(response).then((body) => resolve({ status: response.statusCode!, body, policy }))
  })
  sent.end()
  return promise
}

test('the kept mail is shown with its link to click, and nothing in it becomes markup', async () => {
  const { status, body, policy } = await get('localhost:4000')
  expect(status).toBe(200)
  expect(body).toContain('<a href="http://localhost:4000/sign-in/confirm#token=abc">')
  expect(body).toContain('&lt;b&gt;Sign in&lt;/b&gt;')
  expect(body).not.toContain('<script')
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-/)
})

test('asked for a link, the API says where the mail is', async () => {
  const answer = await api.call('POST', '/v1/auth/request-magic-link', { body: { email: 'ada@vendor.test' } })
  expect(answer.json()).toEqual({ sent: true, inbox: '/inbox' })
})

test('under any other name it is not there: a page that was made to lead here reads nothing', async () => {
  expect((await get('rebound.evil.test')).status).toBe(404)
  expect((await get('rebound.evil.test', { 'x-forwarded-host': 'localhost' })).status).toBe(404)
})

test('an installation that sends mail has no inbox', async () => {
  const other = await startTestApi()
  const answer = await other.call('GET', '/inbox')
  await other.stop()
  expect(answer.json()).toMatchObject({ status: 404, code: 'route_not_found' })
})
