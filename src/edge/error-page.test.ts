import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2, requestHttp2, speak } from '../../test/support/raw-visitor.ts'
import { startRawUpstream } from '../../test/support/upstream.ts'
import { acceptsHtml, type ErrorPageBrand, renderErrorPage } from './error-page.ts'

const HOST = 'shop.customer.com'
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const HOSTILE = `</title><script>alert(1)</script><img src=x onerror='alert("2")'>&{{requestId}}`
let edge: TestEdge
let brand: ErrorPageBrand | undefined
const asked: string[] = []
let broken: Awaited<ReturnType<typeof startRawUpstream>>

beforeAll(async () => {
  edge = await startTestEdge({
    brandOf(projectId) {
      asked.push(projectId)
      return brand
    },
  })
  broken = await startRawUpstream((socket) => socket.end('220 mail.example.com ESMTP\r\n\r\n'))
  await edge.route(HOST, broken.url, { projectId: '7' })
})
afterAll(async () => {
  await edge.stop(0)
  await broken.stop()
})

async function visit(accept: string | undefined, method = 'GET') {
  const field = accept === undefined ? '' : `Accept: ${accept}\r\n`
  const head = `${method} / HTTP/1.1\r\nHost: ${HOST}\r\n${field}Content-Length: 0\r\n\r\n`
  const reader = await speak({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }, head)
  const answer = await reader.answer({ bodiless: method === 'HEAD' })
  reader.socket.destroy()
  return answer
}

test('a browser gets the page of the project, whole and kept by nobody, with the request’s id', async () => {
  brand = { name: 'Acme Shops', color: '#1a56c4', ownHtml: null }
  const answer = await visit(BROWSER)
  expect(answer).toMatchObject({ status: 502 })
  expect(answer.field('content-type')).toBe('text/html; charset=utf-8')
  expect(answer.field('cache-control')).toBe('no-store')
  expect(answer.field('namesake-error')).toBe('malformed')
  expect(answer.field('content-security-policy')).toContain("default-src 'none'")
  expect(answer.body).toContain('Acme Shops')
  expect(answer.body).toContain('#1a56c4')
  expect(answer.body).toContain(HOST)
  await vi.waitFor(() => expect(edge.lines.some(({ status }) => status === 502)).toBe(true), { timeout: 10_000 })
  const { requestId } = edge.lines.find(({ status }) => status === 502) as { requestId: string }
  expect(answer.body).toContain(requestId)
  expect(answer.body.length).toBeLessThan(8 * 1024)
})

test.each([undefined, '*/*', 'application/json', 'text/html;q=0, */*'])(
  'whoever accepts %s gets plain text, and no brand is looked up',
  async (accept) => {
    asked.length = 0
    const answer = await visit(accept)
    expect(answer.field('content-type')).toBe('text/plain; charset=utf-8')
    expect(answer).toMatchObject({ status: 502 })
    expect(asked).toEqual([])
  },
)

test('HEAD is told the length of the page, HTTP/2 gets the same page, and what was sent is not offered to be sent again', async () => {
  brand = { name: 'Acme', color: null, ownHtml: null }
  expect(Number((await visit(BROWSER, 'HEAD')).field('content-length'))).toBeGreaterThan(500)
  expect((await visit(BROWSER)).body).toContain('Try again')
  expect((await visit(BROWSER, 'POST')).body).not.toContain('Try again')
  const session = await openHttp2({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })
  const answer = await requestHttp2(session, { ':path': '/', ':authority': HOST, accept: BROWSER })
  expect(answer.headers).toMatchObject({ ':status': 502, 'content-type': 'text/html; charset=utf-8' })
  session.close()
})

test('a hostname that cannot be looked up is explained to a browser as well', async () => {
  await edge.route('slow.customer.com', broken.url)
  edge.hosts.set('slow.customer.com', { kind: 'unavailable' })
  const head = `GET / HTTP/1.1\r\nHost: slow.customer.com\r\nAccept: ${BROWSER}\r\n\r\n`
  const reader = await speak({ port: edge.httpsPort, hostname: 'slow.customer.com', ca: edge.ca.certPem }, head)
  const answer = await reader.answer()
  expect(answer).toMatchObject({ status: 503 })
  expect(answer.field('retry-after')).toBe('5')
  expect(answer.body).toContain('<h1>Please try again in a moment</h1>')
  reader.socket.destroy()
})

test.each(['name', 'color', 'hostname', 'requestId'])('nothing that is written into the page becomes a part of it: %s', (where) => {
  const facts = { hostname: HOST, requestId: 'id', name: 'Acme', color: '#1a56c4', [where]: HOSTILE }
  const { hostname, requestId, name, color } = facts
  const { html } = renderErrorPage({ status: 502, hostname, requestId, brand: { name, color, ownHtml: null }, canReload: true })
  expect(html).not.toMatch(/<script|<img|onerror='/)
  expect(html.match(/<title>/g)).toHaveLength(1)
})

test('a page of the vendor’s own has its places filled in, escaped, and may not run a script', () => {
  const ownHtml = '<p>{{hostname}} is away, {{ requestId }}; {{other}} {{hostname}} $& $1</p>'
  const facts = { status: 502, hostname: `<b>${HOST}`, requestId: 'a$&b"c', brand: { name: 'Acme', color: null, ownHtml }, canReload: true }
  const { html, policy } = renderErrorPage(facts)
  expect(html).toBe(`<p>&lt;b&gt;${HOST} is away, a$&amp;b&quot;c; {{other}} &lt;b&gt;${HOST} $& $1</p>`)
  expect(policy).not.toContain('script-src')
  expect(policy).toContain("default-src 'none'")
})

test.each([
  ['text/html', true],
  ['TEXT/HTML ; q=0.1', true],
  ['application/json, text/html;level=1', true],
  ['text/html;q=0.0', false],
  ['*/*', false],
  ['text/htmlx', false],
  ['', false],
])('Accept: %s asks for a page: %j', (accept, expected) => {
  expect(acceptsHtml(accept)).toBe(expected)
})
