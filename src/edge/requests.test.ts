import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { frame, RawHttp2, requestBlock } from '../../test/support/http2-frames.ts'
import { openHttp2, openTls, RawReader, requestHttp2, speak } from '../../test/support/raw-visitor.ts'
import { startRawUpstream, startUpstream, type Upstream } from '../../test/support/upstream.ts'

let edge: TestEdge
let upstream: Upstream
const HOST = 'shop.customer.com'

beforeAll(async () => {
  upstream = await startUpstream()
  edge = await startTestEdge({ trustedProxies: ['10.0.0.0/8'] })
  await edge.route(HOST, upstream.url, { alsoFor: ['www.customer.com', 'other.customer.com'] })
  await edge.route('www.customer.com', upstream.url)
  await edge.route('other.customer.com', upstream.url, { projectId: '2' })
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})
const target = (hostname = HOST) => ({ port: edge.httpsPort, hostname, ca: edge.ca.certPem })

/** One request on its own connection; the JSON of what the upstream saw when it got there. */
async function ask(head: string, body = '', hostname = HOST) {
  const reader = await speak(target(hostname), `${head.replaceAll('\n', '\r\n')}\r\n\r\n${body}`)
  const answer = await reader.answer({ bodiless: head.startsWith('HEAD') })
  reader.socket.destroy()
  const seen = answer.body.startsWith('{') ? JSON.parse(answer.body) : undefined
  return { ...answer, seen, sent: (name: string) => valuesIn(seen?.fields ?? [], name) }
}
function valuesIn(fields: string[], name: string): string[] {
  return fields.filter((_, i) => i % 2 === 1 && fields[i - 1]!.toLowerCase() === name)
}

test('the upstream sees the Host as the visitor sent it', async () => {
  const { sent, status } = await ask(`GET /a?b=c HTTP/1.1\nHost: Shop.Customer.com.:8443`)
  expect(status).toBe(200)
  expect(sent('host')).toEqual(['Shop.Customer.com.:8443'])
  expect(sent('x-forwarded-host')).toEqual(['Shop.Customer.com.:8443'])
})

test('a Host that says the default port, where the target or :authority does not, is the same', async () => {
  for (const [authority, host] of [
    [HOST, `${HOST}:443`],
    [`${HOST}:443`, HOST],
  ] as const) {
    const { sent, seen } = await ask(`GET https://${authority}/a HTTP/1.1\nHost: ${host}`)
    expect([seen?.url, sent('host'), sent('x-forwarded-host')]).toEqual(['/a', [host], [host]])
    const session = await openHttp2(target())
    const { body } = await requestHttp2(session, { ':path': '/a', ':authority': authority, host })
    expect(valuesIn(JSON.parse(body).fields, 'host')).toEqual([authority])
    session.close()
  }
  expect((await ask(`GET https://${HOST}/a HTTP/1.1\nHost: ${HOST}:8443`)).status).toBe(400)
  const session = await openHttp2(target())
  expect((await requestHttp2(session, { ':path': '/a', ':authority': HOST, host: `${HOST}:8443` })).headers[':status']).toBe(400)
  session.close()
})

test('who the visitor is, only we say: all that it claims itself is left out', async () => {
  const { sent, seen } = await ask(
    `GET / HTTP/1.1\nHost: ${HOST}\nX-Forwarded-For: 1.1.1.1\nX_Forwarded_For: 2.2.2.2\nX-Forwarded_Proto: http\nX-Real-IP: 3.3.3.3\nForwarded: for=4.4.4.4\nX-Forwarded-Port: 1\nX-Request-Id: mine\nX-Forwarded-Host: evil.example\nConnection: X-Forwarded-For, X-Request-Id\nCDN_Loop: x\nX-Own: kept`,
  )
  expect(sent('x-forwarded-for')).toEqual(['127.0.0.1'])
  expect(sent('x-forwarded-proto')).toEqual(['https'])
  expect(sent('x-forwarded-host')).toEqual([HOST])
  expect(sent('x-request-id')[0]).toMatch(/^[0-9a-f-]{36}$/)
  expect(sent('x-own')).toEqual(['kept'])
  expect(seen.fields.join('\n')).not.toMatch(/_|\d\.\d\.1\.1|[234]\.[234]|mine|evil|X-Real-IP|^Forwarded/m)
})

test('the log calls a request what its upstream and a trusted proxy before us call it', async () => {
  const behind = await startTestEdge({ trustedProxies: ['127.0.0.1'] })
  onTestFinished(() => behind.stop(1_000))
  await behind.route(HOST, upstream.url, { alsoFor: ['www.customer.com'] })
  await behind.route('www.customer.com', upstream.url)
  const reader = new RawReader(await openTls({ port: behind.httpsPort, hostname: HOST, ca: behind.ca.certPem }))
  const asked = [
    [HOST, 'theirs-1'],
    ['www.customer.com', 'theirs-1'],
    ['www.customer.com', 'theirs-2'],
    [HOST, undefined],
    ['www.customer.com', undefined],
    ['www.customer.com', 'not "an" id'],
  ] as const
  for (const [host, given] of asked) {
    reader.socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n${given === undefined ? '' : `X-Request-Id: ${given}\r\n`}\r\n`)
    const { fields } = JSON.parse((await reader.answer()).body) as { fields: string[] }
    const [id] = valuesIn(fields, 'x-request-id')
    expect(id).toMatch(given?.startsWith('theirs') ? given : /^[0-9a-f-]{36}$/)
    expect([valuesIn(fields, 'host'), valuesIn(fields, 'x-forwarded-host')]).toEqual([[host], [host]])
    await expect.poll(() => behind.lines.find(({ requestId }) => requestId === id && id !== undefined)).toMatchObject({ hostname: host })
    behind.lines.length = 0
  }
  reader.socket.destroy()
})

test('the fields of this hop stay on this hop, both ways', async () => {
  const { sent, head } = await ask(
    `GET / HTTP/1.1\nHost: ${HOST}\nConnection: keep-alive, X-Mine\nX-Mine: 1\nKeep-Alive: 5\nProxy-Connection: x\nTE: trailers, gzip\nProxy-Authorization: x\nUpgrade: h2c`,
  )
  expect(sent('x-mine')).toEqual([])
  expect(sent('keep-alive')).toEqual([])
  expect(sent('proxy-connection')).toEqual([])
  expect(sent('proxy-authorization')).toEqual([])
  expect(sent('upgrade')).toEqual([])
  expect(sent('te')).toEqual(['trailers'])
  expect(head).not.toMatch(/x-hop|alt-svc/i)
})

test('a request that was here before ends with 508, and others are marked for the next time', async () => {
  expect(await ask(`GET / HTTP/1.1\nHost: ${HOST}\nCDN-Loop: other, Namesake; v=1`)).toMatchObject({ status: 508 })
  await expect.poll(() => edge.lines.find(({ status }) => status === 508)).toMatchObject({ hostname: HOST }) // whose upstream leads back here
  const { sent } = await ask(`GET / HTTP/1.1\nHost: ${HOST}\nCDN-Loop: other\nCDN-Loop: third; a="b"`)
  expect(sent('cdn-loop')).toEqual(['other, third; a="b", namesake'])
})

test('a request for another hostname is 421 unless the certificate covers it and the project is the same', async () => {
  const host = (name: string) => `GET / HTTP/1.1\nHost: ${name}`
  expect((await ask(host('www.customer.com'))).status).toBe(200)
  expect((await ask(host('other.customer.com'))).status).toBe(421)
  expect((await ask(host('edge.example.com'))).status).toBe(421)
  expect((await ask(host('unknown.customer.com'))).status).toBe(421)
  expect((await ask(host('127.0.0.1'))).status).toBe(421)
  expect((await ask(host('[::1]:8443'))).status).toBe(421)
  expect((await ask(host('a%20b!,x'))).status).toBe(421)
  expect((await ask(host('sh\xadop.customer.com'))).status).toBe(400) // IDNA drops the soft hyphen, an application may not
  expect((await ask(host(HOST), '', 'www.customer.com')).status).toBe(421)
})

test('503 while nobody can say whose another hostname is: on a connection of its own it could not be served either', async () => {
  const answerWhileUnsureOf = async (hostname: string) => {
    const known = edge.hosts.get(hostname)!
    edge.hosts.set(hostname, { kind: 'unavailable' })
    const { status, field } = await ask('GET / HTTP/1.1\nHost: other.customer.com')
    edge.hosts.set(hostname, known)
    return [status, field('retry-after')]
  }
  expect(await answerWhileUnsureOf('other.customer.com')).toEqual([503, '5'])
  expect(await answerWhileUnsureOf(HOST)).toEqual([421, undefined]) // it can
})

test('421 over HTTP/2, where connections are shared, leaves the connection usable', async () => {
  const session = await openHttp2(target())
  const get = (authority: string) => requestHttp2(session, { ':path': '/', ':authority': authority })
  expect((await get('other.customer.com')).headers[':status']).toBe(421)
  expect((await get('www.customer.com')).headers[':status']).toBe(200)
  session.close()
})

test('HTTP/2: body, Host, joined cookies and no connection fields', async () => {
  const session = await openHttp2(target())
  const headers = { ':path': '/x', ':method': 'POST', ':authority': HOST, cookie: ['a=1', 'b=2'] }
  const { headers: fields, body } = await requestHttp2(session, headers, 'hello')
  expect(fields).toMatchObject({ ':status': 200, 'content-type': 'application/json' })
  expect(fields.connection ?? fields['transfer-encoding'] ?? fields['keep-alive']).toBeUndefined()
  const seen = JSON.parse(body)
  expect(seen).toMatchObject({ method: 'POST', url: '/x', body: 'hello' })
  expect(valuesIn(seen.fields, 'cookie')).toEqual(['a=1; b=2'])
  expect(valuesIn(seen.fields, 'host')).toEqual([HOST])
  session.close()
})

test('an HTTP/2 connection carries many requests at once', async () => {
  const session = await openHttp2(target())
  const paths = Array.from({ length: 100 }, (_, i) => `/n${i}`)
  const answers = await Promise.all(paths.map((path) => requestHttp2(session, { ':path': path, ':authority': HOST })))
  expect(answers.map(({ body }) => JSON.parse(body).url)).toEqual(paths)
  session.close()
})

test('HEAD, 204 and 304 have no body, and the connection goes on', async () => {
  const reader = new RawReader(await openTls(target()))
  const send = (line: string) => reader.socket.write(`${line} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  send('HEAD /bytes?count=1000')
  const head = await reader.answer({ bodiless: true })
  expect([head.status, head.field('content-length')]).toEqual([200, '1000'])
  for (const code of [204, 304]) {
    send(`GET /status?code=${code}`)
    const answer = await reader.answer({ bodiless: true })
    expect([answer.status, answer.field('transfer-encoding')]).toEqual([code, undefined])
  }
  send('GET /last')
  expect((await reader.answer()).status).toBe(200)
  reader.socket.destroy()
})

test('HEAD, 204 and 304 over HTTP/2', async () => {
  const session = await openHttp2(target())
  const head = await requestHttp2(session, { ':path': '/bytes?count=1000', ':method': 'HEAD', ':authority': HOST })
  expect(head).toMatchObject({ headers: { ':status': 200, 'content-length': '1000' }, body: '' })
  for (const code of [204, 304]) {
    expect(await requestHttp2(session, { ':path': `/status?code=${code}`, ':authority': HOST })).toMatchObject({
      headers: { ':status': code },
      body: '',
    })
  }
  session.close()
})

test.each([400, 404, 418, 500, 502, 503])('status %i is the application’s own answer and passes', async (code) => {
  const { status, body, field } = await ask(`GET /status?code=${code} HTTP/1.1\nHost: ${HOST}`)
  expect([status, field('namesake-error')]).toEqual([code, undefined])
  expect(body).toContain('body')
})

test('chunked bodies pass both ways', async () => {
  const { seen, sent } = await ask(
    `POST / HTTP/1.1\nHost: ${HOST}\nTransfer-Encoding: chunked`,
    '5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n',
  )
  expect(seen.body).toBe('hello world')
  expect(sent('transfer-encoding')).toEqual(['chunked'])
  const counted = await ask(`POST / HTTP/1.1\nHost: ${HOST}\nContent-Length: 5`, 'hello')
  expect([counted.seen.body, counted.sent('content-length')]).toEqual(['hello', ['5']])
  const down = await ask(`GET /bytes?count=3&chunked HTTP/1.1\nHost: ${HOST}`)
  expect(down.body).toBe('3\r\nxxx\r\n0\r\n\r\n')
})

test('trailers pass both ways, except those that could deceive', async () => {
  const up = await ask(
    `POST / HTTP/1.1\nHost: ${HOST}\nTrailer: X-Sum\nTransfer-Encoding: chunked`,
    '1\r\na\r\n0\r\nX-Sum: 1\r\nX-Forwarded-For: 9.9.9.9\r\nAuthorization: x\r\n\r\n',
  )
  expect(up.seen.trailers).toEqual(['X-Sum', '1'])
  const reader = await speak(target(), `GET /trailers HTTP/1.1\r\nHost: ${HOST}\r\nTE: trailers\r\n\r\n`)
  const { field } = { field: (await reader.until('\r\n\r\n')).match(/^trailer: (.*)\r$/im)?.[1] }
  expect(field).toBe('X-Checksum')
  expect(await reader.until('abc\r\n\r\n')).toBe('4\r\nbody\r\n0\r\nX-Checksum: abc\r\n\r\n')
  reader.socket.destroy()
})

test('trailers that Connection names stay on this hop, both ways and to either protocol', async () => {
  const named = 'Connection: close, X-Secret\r\nConnection: x-too'
  const trailers = 'X-Secret: 1\r\nX-Sum: 2\r\nx-TOO: 3\r\nClose: 4\r\n'
  const chunked = `Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n${trailers}\r\n`
  const raw = await startRawUpstream((socket, _connection, text) => {
    if (/^GET|\r\n0\r\n/.test(text)) socket.write(`HTTP/1.1 200 OK\r\n${named}\r\nX-Secret: head\r\n${chunked}`)
  })
  onTestFinished(() => raw.stop())
  await edge.route('hop.customer.com', raw.url)
  const reader = await speak(
    target('hop.customer.com'),
    `POST / HTTP/1.1\r\nHost: hop.customer.com\r\n${named}\r\nTE: trailers\r\n${chunked}`,
  )
  expect(await reader.until('\r\n\r\n')).not.toMatch(/x-secret/i)
  expect(await reader.until('\r\n\r\n')).toBe('1\r\na\r\n0\r\nX-Sum: 2\r\nClose: 4\r\n\r\n')
  reader.socket.destroy()
  expect(raw.received.join('')).toMatch(/\r\n0\r\nX-Sum: 2\r\nClose: 4\r\n\r\n$/)
  const session = await openHttp2(target('hop.customer.com'))
  const answer = await requestHttp2(session, { ':path': '/', ':authority': 'hop.customer.com', te: 'trailers' })
  expect(answer.headers['x-secret']).toBeUndefined()
  expect(Object.entries(answer.trailers)).toEqual([
    ['x-sum', '2'],
    ['close', '4'],
  ])
  session.close()
})

test.each([
  ['with a length', 'GET / HTTP/1.1', 'Content-Length: 2\r\n\r\nok'],
  ['to HEAD', 'HEAD / HTTP/1.1', 'Transfer-Encoding: chunked\r\n\r\n'],
  ['to HTTP/1.0', 'GET / HTTP/1.0\nConnection: keep-alive', 'Content-Length: 2\r\n\r\nok'],
])('an answer %s that announces trailers is passed without the announcement', async (_name, line, rest) => {
  const raw = await startRawUpstream((socket) => socket.write(`HTTP/1.1 200 OK\r\nTrailer: X-Checksum\r\n${rest}`))
  await edge.route(HOST, raw.url)
  const { status, field } = await ask(`${line}\nHost: ${HOST}`)
  expect([status, field('trailer')]).toEqual([200, undefined])
  await edge.route(HOST, upstream.url, { alsoFor: ['www.customer.com', 'other.customer.com'] })
  await raw.stop()
})

test('a trailer may have any name over HTTP/2', async () => {
  const trailers = 'constructor: 1\r\n__proto__: 2\r\nX-Twice: 3\r\nX-Twice: 4\r\n'
  const raw = await startRawUpstream((socket) => socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${trailers}\r\n`))
  await edge.route(HOST, raw.url)
  const session = await openHttp2(target())
  const answer = await requestHttp2(session, { ':path': '/', ':authority': HOST })
  expect(Object.entries(answer.trailers)).toEqual([
    ['constructor', '1'],
    ['__proto__', '2'],
    ['x-twice', '3, 4'],
  ])
  session.close()
  await edge.route(HOST, upstream.url, { alsoFor: ['www.customer.com', 'other.customer.com'] })
  await raw.stop()
})

test('what an answer says in its trailers of its own request arrives', async () => {
  const raw = await startRawUpstream((socket) =>
    socket.write(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Request-Id: 7\r\nX-Trace: a\r\nSet-Cookie: a=b\r\nHost: x\r\n\r\n',
    ),
  )
  await edge.route(HOST, raw.url)
  const reader = await speak(target(), `GET / HTTP/1.1\r\nHost: ${HOST}\r\nTE: trailers\r\n\r\n`)
  await reader.until('\r\n\r\n')
  expect(await reader.until('\r\n\r\n')).toBe('0\r\nX-Request-Id: 7\r\nX-Trace: a\r\n\r\n')
  reader.socket.destroy()
  await edge.route(HOST, upstream.url, { alsoFor: ['www.customer.com', 'other.customer.com'] })
  await raw.stop()
})

test('trailers over HTTP/2', async () => {
  const session = await openHttp2(target())
  const stream = session.request({ ':path': '/', ':method': 'POST', ':authority': HOST }, { endStream: false, waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '2' }))
  stream.end('body')
  let seen = ''
  for await (const chunk of stream) seen += chunk
  expect(JSON.parse(seen)).toMatchObject({ body: 'body', trailers: ['x-sum', '2'] })
  expect(await requestHttp2(session, { ':path': '/trailers', ':authority': HOST })).toMatchObject({
    body: 'body',
    trailers: { 'x-checksum': 'abc' },
  })
  session.close()
})

test('trailers of an answer over HTTP/2 that does not wait for its request arrive before the visitor is told to stop', async () => {
  const early = await startRawUpstream((socket) =>
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nearly\r\n0\r\nX-Sum: 5\r\n\r\n'),
  )
  await edge.route('early.customer.com', early.url)
  const raw = await RawHttp2.open(target('early.customer.com'))
  const head = requestBlock('early.customer.com', { method: 'POST', more: ['te', 'trailers'] })
  raw.send(frame(1, 0x4, 1, head), frame(0, 0, 1, Buffer.from('more follows')))
  await raw.until(({ type, streamId }) => type === 3 && streamId === 1)
  const ofStream = raw.frames.filter(({ streamId, type }) => streamId === 1 && type <= 3)
  expect(ofStream.map(({ type, flags }) => [type, type === 3 ? 0 : flags & 1])).toEqual([
    [1, 0],
    [0, 0],
    [1, 1],
    [3, 0],
  ])
  raw.socket.destroy()
  await early.stop()
})

test('a body that waits for 100 Continue gets it from the upstream', async () => {
  const reader = await speak(target(), `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`)
  expect(await reader.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 100 /)
  reader.socket.write('hello')
  expect(JSON.parse((await reader.answer()).body).body).toBe('hello')
  reader.socket.destroy()
})

test('a refusal instead of 100 Continue arrives before any body was sent', async () => {
  const raw = await startRawUpstream((socket) => socket.end('HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\n\r\ntoo large'))
  await edge.route('strict.customer.com', raw.url)
  const reader = await speak(
    target('strict.customer.com'),
    'POST / HTTP/1.1\r\nHost: strict.customer.com\r\nContent-Length: 5000000\r\nExpect: 100-continue\r\n\r\n',
  )
  expect(await reader.answer()).toMatchObject({ status: 413, body: 'too large' })
  expect(raw.received[0]).toMatch(/^Expect: 100-continue\r$/m)
  reader.socket.destroy()
  await raw.stop()
})

test('an upstream that ignores the expectation does not leave the visitor waiting', async () => {
  const raw = await startRawUpstream(() => {})
  await edge.route('deaf.customer.com', raw.url)
  const reader = await speak(
    target('deaf.customer.com'),
    'POST / HTTP/1.1\r\nHost: deaf.customer.com\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n',
  )
  expect(await reader.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 100 /)
  reader.socket.destroy()
  await raw.stop()
})

test('an answer that comes before the upload has ended is seen by its sender', async () => {
  const reader = await speak(target(), `POST /early HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(100_000)}`)
  expect(await reader.answer()).toMatchObject({ status: 413, body: 'too large' })
  reader.socket.write('x'.repeat(200_000))
  reader.socket.write(`GET /after HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  expect(JSON.parse((await reader.answer()).body).url).toBe('/after')
  reader.socket.destroy()
})

test('pipelined requests are answered in order and reach the upstream in order', async () => {
  const before = upstream.seen.length
  const requests = Array.from({ length: 20 }, (_, i) =>
    i % 2 ? `GET /p${i} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n` : `POST /p${i} HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 1\r\n\r\nx`,
  )
  const reader = await speak(target(), requests.join(''))
  for (let i = 0; i < 20; i += 1) expect(JSON.parse((await reader.answer()).body).url).toBe(`/p${i}`)
  expect(upstream.seen.slice(before).map(({ url }) => url)).toEqual(Array.from({ length: 20 }, (_, i) => `/p${i}`))
  reader.socket.destroy()
})

test('rubbish behind a request is refused behind its answer, never in the middle of it', async () => {
  const reader = await speak(target(), `GET /bytes?count=2000000 HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await reader.until('\r\n\r\n')
  reader.socket.write('rubbish\r\n\r\n')
  expect(await reader.closed()).toMatch(/^x{2000000}HTTP\/1\.1 400 /)
})

test('Connection: close is honoured', async () => {
  const reader = await speak(target(), `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`)
  expect((await reader.answer()).field('connection')).toBe('close')
  await reader.closed()
})

test('an HTTP/1.0 client gets a body that ends with the connection, and may keep it alive', async () => {
  const old = await speak(target(), `GET /bytes?count=3&chunked HTTP/1.0\r\nHost: ${HOST}\r\n\r\n`)
  const text = await old.closed()
  expect(text).toMatch(/^HTTP\/1\.1 200 /)
  expect(text).not.toMatch(/transfer-encoding/i)
  expect(text.split('\r\n\r\n')[1]).toBe('xxx')
  const kept = await speak(target(), `GET /bytes?count=3 HTTP/1.0\r\nHost: ${HOST}\r\nConnection: keep-alive\r\n\r\n`)
  expect(await kept.answer()).toMatchObject({ status: 200, body: 'xxx' })
  kept.socket.write(`GET /bytes?count=2 HTTP/1.0\r\nHost: ${HOST}\r\n\r\n`)
  expect(await kept.answer()).toMatchObject({ body: 'xx' })
  await kept.closed()
})

test('an HTTP/1.0 request without Host is for the name of its handshake', async () => {
  const { status, sent } = await ask('GET / HTTP/1.0')
  expect(status).toBe(200)
  expect([sent('host'), sent('x-forwarded-host')]).toEqual([[HOST], [HOST]])
  expect((await ask('GET / HTTP/1.1\nHost:')).status).toBeGreaterThanOrEqual(400)
})

test('an HTTP/1.0 request without Host whose target is absolute is for what that names', async () => {
  const { status, seen, sent } = await ask('GET https://www.customer.com:443/a?b HTTP/1.0')
  expect([status, seen?.url]).toEqual([200, '/a?b'])
  expect([sent('host'), sent('x-forwarded-host')]).toEqual([['www.customer.com:443'], ['www.customer.com:443']])
  expect((await ask('GET https://other.customer.com/ HTTP/1.0')).status).toBe(421)
  expect((await ask('GET https://www.customer.com@other.customer.com/ HTTP/1.0')).status).toBe(400)
  expect((await ask(`GET https://www.customer.com/ HTTP/1.0\nHost: ${HOST}`)).status).toBe(400)
  expect((await ask('GET https://www.customer.com/ HTTP/1.0\nHost:')).status).toBe(400)
  for (const nobody of ['https:///a', 'https://?a']) expect((await ask(`GET ${nobody} HTTP/1.0`)).status).toBe(400)
})

test('connections to the upstream are kept and used again', async () => {
  await ask(`GET / HTTP/1.1\nHost: ${HOST}`)
  const before = upstream.connections()
  for (let i = 0; i < 10; i += 1) await ask(`POST / HTTP/1.1\nHost: ${HOST}\nContent-Length: 1`, 'x')
  expect(upstream.connections()).toBe(before)
})

test.each([
  ['WWW-Authenticate: Basic realm="a", NTLM', 2],
  ['WWW-Authenticate: Negotiate', 2],
  ['Persistent-Auth: true', 2],
  ['WWW-Authenticate: Basic realm="NTLM"', 1],
])('a connection that may know its visitor from now on carries nobody else: %s', async (field, connections) => {
  const raw = await startRawUpstream((socket) => socket.write(`HTTP/1.1 401 Unauthorized\r\n${field}\r\nContent-Length: 0\r\n\r\n`))
  await edge.route(HOST, raw.url)
  for (let i = 0; i < 2; i += 1) {
    const answer = await ask(`GET / HTTP/1.1\nHost: ${HOST}`)
    expect([answer.status, answer.field(field.split(':')[0]!)]).toEqual([401, field.slice(field.indexOf(' ') + 1)])
  }
  expect(raw.connections.length).toBe(connections)
  await edge.route(HOST, upstream.url, { alsoFor: ['www.customer.com', 'other.customer.com'] })
  await raw.stop()
})

test.each([
  ['Negotiate YII', 2],
  ['ntlm TlR', 2],
  ['Basic TlRMTQ==', 1],
  ['Negotiated x', 1],
])(
  'a connection that a visitor may have authenticated carries nobody else, whatever the answer says: %s',
  async (authorization, connections) => {
    const raw = await startRawUpstream((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
    await edge.route(HOST, raw.url)
    await ask(`GET /1 HTTP/1.1\nHost: ${HOST}\nX-Before: 1\nAuthorization: ${authorization}\nX-Behind: 2`)
    await ask(`GET /2 HTTP/1.1\nHost: ${HOST}`)
    expect(raw.connections.length).toBe(connections)
    const session = await openHttp2(target())
    await requestHttp2(session, { ':path': '/3', 'x-before': '1', authorization, 'x-behind': '2' })
    await requestHttp2(session, { ':path': '/4' })
    session.destroy()
    expect(raw.connections.length).toBe(connections * 2 - 1)
    for (const text of [raw.received[0], raw.received[2]]) {
      expect(text).toMatch(new RegExp(`x-before: 1\r\nauthorization: ${authorization}\r\nx-behind: 2\r\n`, 'i'))
    }
    await edge.route(HOST, upstream.url, { alsoFor: ['www.customer.com', 'other.customer.com'] })
    await raw.stop()
  },
)

test('a hostname that is gone is 404 on a connection that was made before', async () => {
  await edge.route('gone.customer.com', upstream.url)
  const reader = await speak(target('gone.customer.com'), 'GET / HTTP/1.1\r\nHost: gone.customer.com\r\n\r\n')
  expect((await reader.answer()).status).toBe(200)
  edge.hosts.delete('gone.customer.com')
  reader.socket.write('GET / HTTP/1.1\r\nHost: gone.customer.com\r\n\r\n')
  expect(await reader.answer()).toMatchObject({ status: 404 })
  edge.hosts.set('gone.customer.com', { kind: 'unavailable' })
  reader.socket.write('GET / HTTP/1.1\r\nHost: gone.customer.com\r\n\r\n')
  const unavailable = await reader.answer()
  expect([unavailable.status, unavailable.field('retry-after')]).toEqual([503, '5'])
  reader.socket.destroy()
})

test('a changed upstream holds for the next request of the same connection', async () => {
  const other = await startUpstream()
  await edge.route('moves.customer.com', upstream.url)
  const reader = await speak(target('moves.customer.com'), 'GET /one HTTP/1.1\r\nHost: moves.customer.com\r\n\r\n')
  await reader.answer()
  await edge.route('moves.customer.com', other.url)
  reader.socket.write('GET /two HTTP/1.1\r\nHost: moves.customer.com\r\n\r\n')
  await reader.answer()
  expect(other.seen.map(({ url }) => url)).toEqual(['/two'])
  reader.socket.destroy()
  await other.stop()
})

test('the edge host says that it is alive, and the service’s own hosts lead to the api role', async () => {
  const root = await ask('GET / HTTP/1.1\nHost: edge.example.com', '', 'edge.example.com')
  expect(root).toMatchObject({ status: 200, body: 'Namesake edge is alive.\n' })
  expect((await ask('GET /x HTTP/1.1\nHost: edge.example.com', '', 'edge.example.com')).status).toBe(404)
  await edge.route('api.example.com', upstream.url)
  edge.hosts.set('api.example.com', { kind: 'service', upstreamUrl: upstream.url })
  const api = await ask('GET /v1 HTTP/1.1\nHost: api.example.com', '', 'api.example.com')
  expect(api.sent('x-forwarded-for')).toEqual(['127.0.0.1'])
})

test('a visitor of an unverified hostname is told of', async () => {
  await edge.route('new.customer.com', upstream.url, { verified: false })
  edge.unverifiedVisits.length = 0
  await ask('GET / HTTP/1.1\nHost: new.customer.com', '', 'new.customer.com')
  expect(edge.unverifiedVisits).toContain('new.customer.com')
})

test('each request leaves one line in the access log and counts in the metrics', async () => {
  await ask(`GET /logged?secret=1 HTTP/1.1\nHost: ${HOST}`)
  const logged = () => edge.lines.find(({ path }) => path === '/logged')
  await expect.poll(logged).toBeDefined()
  const line = logged()
  expect(line).toMatchObject({
    hostname: HOST,
    project: 'project-1',
    method: 'GET',
    path: '/logged',
    protocol: 'HTTP/1.1',
    client: '127.0.0.1',
    status: 200,
  })
  expect(line).toMatchObject({
    requestId: expect.any(String),
    bytes: expect.any(Number),
    upstreamMs: expect.any(Number),
    totalMs: expect.any(Number),
  })
  const text = await edge.metrics()
  expect(text).toMatch(/namesake_edge_requests_total\{class="2xx"\} [1-9]/)
  expect(text).toMatch(/namesake_edge_handshakes_total\{outcome="completed"\} [1-9]/)
  expect(text).toMatch(/namesake_edge_upstream_connections\{state="idle"\} [1-9]/)
})

test('a request that is refused for its head leaves a line, too, and counts', async () => {
  const refused = async () => Number(/^namesake_edge_requests_total\{class="4xx"\} (\d+)$/m.exec(await edge.metrics())?.[1] ?? 0)
  const before = await refused()
  edge.lines.length = 0
  expect((await ask(`GET / HTTP/1.1\nHost: ${HOST}\nCookie: ${'x'.repeat(40_000)}`)).status).toBe(431)
  expect((await ask(`GET / HTTP/1.1\nHost: ${HOST}\nHost: ${HOST}`)).status).toBe(400)
  const session = await openHttp2(target())
  const { headers } = await requestHttp2(session, { ':path': `/${'x'.repeat(17_000)}`, ':authority': HOST })
  session.close()
  expect(headers[':status']).toBe(414)
  await expect.poll(() => edge.lines.length).toBe(3)
  const line = { hostname: HOST, client: '127.0.0.1', bytes: expect.any(Number), msg: 'request' }
  expect(edge.lines).toMatchObject([
    { ...line, status: 431, protocol: 'HTTP/1.1' },
    { ...line, status: 400, protocol: 'HTTP/1.1' },
    { ...line, status: 414, protocol: 'HTTP/2', method: 'GET' },
  ])
  expect(await refused()).toBe(before + 3)
})
