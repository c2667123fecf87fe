import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { RawReader, speakPlain } from '../../test/support/raw-visitor.ts'

let edge: TestEdge
const HOST = 'shop.customer.com'

beforeAll(async () => {
  edge = await startTestEdge({ publicHttpsPort: 8443 })
  await edge.route(HOST, 'http://127.0.0.1:1', { verified: false })
})
afterAll(() => edge.stop(0))

async function ask(path: string, host = `Host: ${HOST}\r\n`, method = 'GET', version = '1.1', port = edge.httpPort) {
  const reader = speakPlain(port, `${method} ${path} HTTP/${version}\r\n${host}\r\n`)
  const answer = await reader.answer({ bodiless: method === 'HEAD' })
  reader.socket.destroy()
  return { status: answer.status, location: answer.field('location'), body: answer.body }
}

test('a challenge of the certificate authority is answered for every hostname that is served here', async () => {
  expect(await ask('/.well-known/acme-challenge/known-Token_1')).toMatchObject({ status: 200, body: 'known-Token_1.thumbprint' })
  expect(await ask('/.well-known/acme-challenge/known', 'Host: edge.example.com\r\n')).toMatchObject({ status: 200 })
  expect(await ask('/.well-known/acme-challenge/known', 'Host: unknown.example.com\r\n')).toMatchObject({ status: 404 })
  expect(await ask('/.well-known/acme-challenge/other')).toMatchObject({ status: 404 })
})

const CHALLENGES = '/.well-known/acme-challenge'

test('the log says who asked for a challenge and what it got, and nothing of who is shown the way to https', async () => {
  const own = await startTestEdge({ publicHttpsPort: 8443 })
  await own.route(HOST, 'http://127.0.0.1:1', { verified: false })
  const askOwn = (path: string, { host = HOST, method = 'GET', version = '1.1' } = {}) =>
    ask(path, `Host: ${host}\r\n`, method, version, own.httpPort)
  await askOwn('/a')
  await askOwn(`${CHALLENGES}/known`)
  await askOwn(`${CHALLENGES}/other`, { method: 'HEAD', version: '1.0' })
  await askOwn(`${CHALLENGES}/known`, { host: 'unknown.example.com' })
  await askOwn(`${CHALLENGES}/known?secret=1`)
  const line = { level: 'info', name: 'edge', msg: 'request', client: '127.0.0.1', hostname: HOST, project: 'project-1', method: 'GET' }
  const unknown = { ...line, hostname: 'unknown.example.com', project: undefined }
  const expected = [
    { ...line, path: `${CHALLENGES}/known`, protocol: 'HTTP/1.1', status: 200, bytes: 'known.thumbprint'.length },
    { ...line, path: `${CHALLENGES}/other`, protocol: 'HTTP/1.0', status: 404, bytes: 0, method: 'HEAD' },
    { ...unknown, path: `${CHALLENGES}/known`, status: 404 },
    { ...line, path: `${CHALLENGES}/known`, status: 308 },
  ].map((fields) => expect.objectContaining({ ...fields, requestId: expect.any(String), totalMs: expect.any(Number) }))
  await expect.poll(() => own.lines.map((said) => ({ project: undefined, ...said }))).toEqual(expected)
  await own.stop(0)
})

test('behind a proxy that is trusted the log says whom that asks for', async () => {
  const behind = await startTestEdge({ trustedProxies: ['127.0.0.1'] })
  const head = `GET ${CHALLENGES}/known HTTP/1.1\r\nHost: edge.example.com\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n`
  const reader = speakPlain(behind.httpPort, head)
  expect((await reader.answer()).status).toBe(200)
  await expect.poll(() => behind.lines).toMatchObject([{ client: '192.0.2.1', hostname: 'edge.example.com' }])
  reader.socket.destroy()
  await behind.stop(0)
})

test('who asks for challenges without end does not fill the log', async () => {
  const own = await startTestEdge()
  const asked = `GET ${CHALLENGES}/other HTTP/1.1\r\nHost: edge.example.com\r\n\r\n`
  const reader = speakPlain(own.httpPort, asked.repeat(1_000))
  for (let n = 0; n < 1_000; n += 1) expect((await reader.answer()).status).toBe(404)
  reader.socket.destroy()
  await expect.poll(() => own.lines.length).toBeGreaterThanOrEqual(500)
  expect(own.lines.length).toBeLessThan(900)
  await own.stop(0)
})

test('all answers are counted by status class', async () => {
  const own = await startTestEdge()
  await own.route(HOST, 'http://127.0.0.1:1')
  const head = `HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`
  for (const bytes of [
    `GET / ${head}`,
    `GET ${CHALLENGES}/known ${head}`,
    `GET ${CHALLENGES}/other ${head}`,
    `CONNECT a:1 ${head}`,
    'rubbish\r\n\r\n',
  ]) {
    const reader = speakPlain(own.httpPort, bytes)
    await reader.answer()
    reader.socket.destroy()
  }
  const counts = [...(await own.metrics()).matchAll(/^namesake_edge_port80_requests_total\{class="(\dxx)"\} (\d+)$/gm)]
  expect(Object.fromEntries(counts.map(([, label, count]) => [label, Number(count)]))).toEqual({ '2xx': 1, '3xx': 1, '4xx': 3, '5xx': 0 })
  await own.stop(0)
})

test.each([
  ['/a/b?c=d', `https://${HOST}:8443/a/b?c=d`],
  ['/.well-known/acme-challenge/not%2fa-token', `https://${HOST}:8443/.well-known/acme-challenge/not%2fa-token`],
  ['//evil.example/', `https://${HOST}:8443//evil.example/`],
])('everything else of a registered hostname moves to https with 308: %s', async (path, location) => {
  for (const host of [`Host: ${HOST}\r\n`, `Host: ${HOST.toUpperCase()}.:8080\r\n`])
    expect(await ask(path, host)).toMatchObject({ status: 308, location })
  expect(await ask(path, `Host: ${HOST}\r\n`, 'POST')).toMatchObject({ status: 308, location })
  expect(await ask(path, `Host: ${HOST}\r\n`, 'HEAD')).toMatchObject({ status: 308, location })
  expect(await ask(path, `Host: ${HOST}\r\n`, 'GET', '1.0')).toMatchObject({ status: 308, location })
})

test.each(['h2c', 'websocket'])('who asks to change to %s is shown the way like all others', async (protocol) => {
  const upgrade = `Connection: Upgrade\r\nUpgrade: ${protocol}\r\n`
  expect(await ask('/a', `Host: ${HOST}\r\n${upgrade}`)).toMatchObject({ status: 308, location: `https://${HOST}:8443/a` })
})

test('who asks before it sends a body is shown the way and not invited to send it in clear text, and the connection ends', async () => {
  const reader = speakPlain(edge.httpPort, `PUT /a HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`)
  const head = await reader.until('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 308 /)
  expect(head).toMatch(new RegExp(`^Location: https://${HOST}:8443/a\r$`, 'm'))
  expect(head).toMatch(/^Connection: close\r$/im)
  await reader.closed()
})

test.each(['unknown.example.com', '127.0.0.1', '[::1]:80', 'localhost', '', 'a,b'])(
  'the Host %j, which nobody registered, is 404',
  async (host) => {
    expect((await ask('/', `Host: ${host}\r\n`)).status).toBe(404)
  },
)

test('a visitor of an unverified hostname is told of', async () => {
  edge.unverifiedVisits.length = 0
  await ask('/')
  expect(edge.unverifiedVisits).toEqual([HOST])
})

test('503 while nobody can say who is registered', async () => {
  edge.hosts.set('later.example.com', { kind: 'unavailable' })
  for (const path of ['/', '/.well-known/acme-challenge/known']) expect((await ask(path, 'Host: later.example.com\r\n')).status).toBe(503)
})

test.each(['a b', `u@${HOST}`, `${HOST}:abc`, `${HOST}, x`, 'evil.example/'])('the Host %j, which can be none, is 400', async (host) => {
  expect((await ask('/', `Host: ${host}\r\n`)).status).toBe(400)
})

test('an HTTP/1.0 request without Host whose target is absolute is for what that names', async () => {
  const location = `https://${HOST}:8443/a?b`
  expect(await ask(`http://${HOST}/a?b`, '', 'GET', '1.0')).toMatchObject({ status: 308, location })
  expect((await ask('http://unknown.example.com/a', '', 'GET', '1.0')).status).toBe(404)
  expect((await ask(`http://${HOST}/a`, 'Host: other.example.com\r\n', 'GET', '1.0')).status).toBe(400)
})

test.each([
  ['http', 80, 308],
  ['https', 443, 308],
  ['http', 443, 400],
  ['http', 8080, 400],
])('an absolute target of %s with the port %i for a Host without one is %i', async (scheme, port, status) => {
  expect((await ask(`${scheme}://${HOST}:${port}/a`, `Host: ${HOST}\r\n`)).status).toBe(status)
})

test.each([
  ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ['what is no HTTP', 'rubbish\r\n\r\n', 400],
  ['two Hosts', `GET / HTTP/1.1\r\nHost: ${HOST}\r\nHost: ${HOST}\r\n\r\n`, 400],
  ['a head of 40 KB', `GET / HTTP/1.1\r\nHost: ${HOST}\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`, 431],
  ['CONNECT', `CONNECT ${HOST}:443 HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`, 405],
])('%s is refused with a page', async (_name, bytes, status) => {
  const reader = speakPlain(edge.httpPort, bytes)
  const answer = await reader.answer()
  expect([answer.status, answer.body]).toEqual([status, expect.stringMatching(new RegExp(`^${status} .*\n.`))])
  expect(answer.field('allow') !== undefined).toBe(status === 405)
  reader.socket.destroy()
})

test('what is wrong behind a request is said behind its answer', async () => {
  let found = (): void => {}
  const slow = await startTestEdge({
    findHost: () => new Promise((resolve) => (found = () => resolve({ kind: 'unknown' }))),
  })
  const head = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`
  const reader = speakPlain(slow.httpPort, `${head}rubbish\r\n\r\n`)
  await wait(200)
  found()
  expect([(await reader.answer()).status, (await reader.answer()).status]).toEqual([404, 400])
  await reader.closed()
  await slow.stop(0)
})

test('a body that is malformed gets no second answer', async () => {
  const reader = speakPlain(edge.httpPort, `POST / HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`)
  expect((await reader.answer()).status).toBe(308)
  await reader.closed()
  expect(reader.rest).toBe('')
})

/** As speakPlain, by somebody who may go on when the edge has ended. */
function speakOn(port: number, bytes: string): RawReader {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {})
  onTestFinished(() => void socket.destroy())
  socket.write(bytes)
  return new RawReader(socket)
}
function goOn({ socket }: RawReader, saying: string): void {
  const timer = setInterval(() => socket.write(saying), 100)
  onTestFinished(() => clearInterval(timer))
}

const CONNECT = `CONNECT ${HOST}:443 HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`
const MALFORMED_BODY = `POST / HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`

test.each([
  ['CONNECT', CONNECT],
  ['CONNECT behind another request', `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n${CONNECT}`],
  ['what is no HTTP', 'rubbish\r\n\r\n'],
  ['a malformed body', MALFORMED_BODY],
])('nothing is left of a connection that said %s, was sent away, and said more before it ended', async (_name, bytes) => {
  const own = await startTestEdge()
  await own.route(HOST, 'http://127.0.0.1:1')
  const reader = speakOn(own.httpPort, bytes)
  await reader.answer()
  await wait(50)
  reader.socket.end('more')
  const stopped = own.stop(60_000).then(() => 'stopped')
  expect(await Promise.race([stopped, wait(5_000, 'a connection is left')])).toBe('stopped')
})

test.each([
  ['CONNECT', CONNECT],
  ['what is no HTTP', 'rubbish\r\n\r\n'],
  ['a malformed body', MALFORMED_BODY],
])('a connection that said %s ends soon after its answer, though the other side never stops', async (_name, bytes) => {
  const reader = speakOn(edge.httpPort, bytes)
  goOn(reader, '\r\n')
  await reader.answer()
  await reader.closed()
})

test('a head that does not end in time is 408, and a connection on which nothing is said closes without a word', async () => {
  const hasty = await startTestEdge({ timeouts: { requestHeadMs: 1_000 } })
  const silent = speakPlain(hasty.httpPort, '')
  const slow = speakOn(hasty.httpPort, `GET / HTTP/1.1\r\nHost: ${HOST}\r\nX: `)
  goOn(slow, 'x')
  expect((await slow.answer()).status).toBe(408)
  await slow.closed()
  expect(await silent.closed()).toBe('')
  await hasty.stop(0)
})

test.each([
  ['nothing more', ''],
  ['a part of the next request', 'GET / HT'],
])('an answered connection on which %s is said is closed in time, and so is one whose body does not come', async (_name, more) => {
  const hasty = await startTestEdge({ timeouts: { requestHeadMs: 1_000, keepAliveMs: 1_000 } })
  await hasty.route(HOST, 'http://127.0.0.1:1')
  const kept = speakPlain(hasty.httpPort, `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n${more}`)
  const bodiless = speakPlain(hasty.httpPort, `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 10\r\n\r\n`)
  for (const reader of [kept, bodiless]) {
    expect((await reader.answer()).status).toBe(308)
    await reader.closed()
  }
  await hasty.stop(0)
})

test('an answered connection stays open for its next request until its time is over', async () => {
  const patient = await startTestEdge({ timeouts: { requestHeadMs: 300, keepAliveMs: 5_000 } })
  await patient.route(HOST, 'http://127.0.0.1:1')
  const bytes = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`
  const reader = speakPlain(patient.httpPort, bytes)
  for (let n = 0; n < 2; n += 1) {
    expect((await reader.answer()).status).toBe(308)
    await wait(1_000)
    reader.socket.write(bytes)
  }
  expect((await reader.answer()).status).toBe(308)
  reader.socket.destroy()
  await patient.stop(0)
})
