import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { createTestCa } from '../../test/support/certificates.ts'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { frame, GOAWAY, SETTINGS } from '../../test/support/http2-frames.ts'
import { freePort } from '../../test/support/ports.ts'
import { openHttp2, requestHttp2, speak } from '../../test/support/raw-visitor.ts'

const HOST = 'shop.customer.com'
const PATIENCE = { timeout: 30_000 } // a busy machine takes its time
const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function startEdge(bridgeMs: number, more: Parameters<typeof startTestEdge>[0] = {}): Promise<TestEdge> {
  const edge = await startTestEdge({ bridgeMs, ...more })
  ends.push(() => edge.stop(0))
  return edge
}

async function listen(server: Server, port: number): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)).on('error', () => {}))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  ends.push(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as { port: number }).port
}

/** An application that counts who is in it at the same time. */
async function startApplication(port: number, answer: RequestListener = (_request, response) => response.end('here')) {
  const seen: string[] = []
  let connections = 0
  const server = createHttpServer((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    answer(request, response)
  })
  server.on('connection', () => {
    connections += 1
  })
  const taken = await listen(server, port)
  return { port: taken, seen, connections: () => connections }
}

async function visit(edge: TestEdge, request = 'GET / HTTP/1.1', { hostname = HOST, body = '' } = {}) {
  const head = `${request}\r\nHost: ${hostname}\r\n\r\n${body}`
  const reader = await speak({ port: edge.httpsPort, hostname, ca: edge.ca.certPem }, head)
  const answer = reader.answer({ bodiless: request.startsWith('HEAD') }).then(
    (got) => ({ status: got.status, error: got.field('namesake-error'), retryAfter: got.field('retry-after'), body: got.body }),
    () => undefined,
  )
  return { reader, answer: answer.finally(() => reader.socket.destroy()) }
}

const ask = async (...parameters: Parameters<typeof visit>) => (await visit(...parameters)).answer

const held = async (edge: TestEdge, count: number) =>
  vi.waitFor(async () => expect((await edge.report()).bridge.held).toBe(count), { ...PATIENCE, interval: 20 })

const metric = async (edge: TestEdge, line: string) => Number(new RegExp(`^${line} (\\S+)$`, 'm').exec(await edge.metrics())?.[1] ?? 0)

test.each(['GET', 'HEAD', 'OPTIONS'])('%s waits while the upstream restarts, and is answered by it', async (method) => {
  const edge = await startEdge(8_000)
  const port = await freePort()
  await edge.route(HOST, `http://127.0.0.1:${port}`)
  const { answer } = await visit(edge, `${method} / HTTP/1.1`)
  await held(edge, 1)
  const application = await startApplication(port)
  expect(await answer).toMatchObject({ status: 200 })
  expect(application.seen).toEqual([`${method} /`])
  expect((await edge.report()).bridge).toEqual({ held: 0, outages: 0, circuits: 0 })
  expect(await metric(edge, 'namesake_edge_held_requests_total\\{outcome="served"\\}')).toBe(1)
  await vi.waitFor(
    () => expect(edge.lines.find(({ msg }) => msg === 'request')).toMatchObject({ status: 200, heldMs: expect.any(Number) }),
    PATIENCE,
  )
  expect(await ask(edge)).toMatchObject({ status: 200 })
  await vi.waitFor(() => expect(edge.lines.filter(({ msg }) => msg === 'request')).toHaveLength(2), PATIENCE)
  expect(edge.lines.findLast(({ msg }) => msg === 'request')).not.toHaveProperty('heldMs')
})

test.each([
  ['POST / HTTP/1.1\r\nContent-Length: 1', 'x'],
  ['GET / HTTP/1.1\r\nContent-Length: 1', 'x'],
  ['PUT / HTTP/1.1\r\nContent-Length: 0', ''],
  ['GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket', ''],
])('what is no plain reading gets 502 at once: %j', async (request, body) => {
  const edge = await startEdge(60_000)
  await edge.route(HOST, `http://127.0.0.1:${await freePort()}`)
  expect(await ask(edge, request, { body })).toMatchObject({ status: 502, error: 'refused' })
  // Also while others wait.
  const waiting = await visit(edge)
  await held(edge, 1)
  expect(await ask(edge, request, { body })).toMatchObject({ status: 502, error: 'refused' })
  waiting.reader.socket.destroy()
  await held(edge, 0)
})

test('where this machine itself lacks what a connection takes, nobody is held and the upstream counts as well', async () => {
  const edge = await startEdge(60_000, { upstream: { sourceIps: ['192.0.2.1'] } }) // an address for documentation (RFC 5737)
  const { port } = await startApplication(0)
  await edge.route(HOST, `http://127.0.0.1:${port}`)
  expect(await ask(edge)).toMatchObject({ status: 502, error: 'busy' })
  expect((await edge.report()).bridge).toEqual({ held: 0, outages: 0, circuits: 0 })
  await vi.waitFor(
    () => expect(edge.lines.find(({ msg }) => msg === 'request')).toMatchObject({ detail: expect.stringContaining('no free port') }),
    PATIENCE,
  )
})

test('a visitor over HTTP/2 waits too, and an upstream over HTTP/2 is waited for', async () => {
  const edge = await startEdge(8_000)
  const port = await freePort()
  await edge.route(HOST, `http://127.0.0.1:${port}`, { upstreamProtocol: 'h2c' })
  const session = await openHttp2({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })
  const answers = [1, 2, 3].map(() => requestHttp2(session, { ':path': '/', ':authority': HOST }))
  await held(edge, 3)
  const server = createHttp2Server((_request, response) => void response.end('two'))
  await listen(server as unknown as Server, port)
  expect((await Promise.all(answers)).map(({ headers }) => headers[':status'])).toEqual([200, 200, 200])
  session.close()
})

/** An application over HTTP/2 that restarts: its former process serves a stream of events on its only place, and takes no further connection. */
async function startRestarting(edge: TestEdge) {
  const http2 = createHttp2Server({ settings: { maxConcurrentStreams: 1 } }, (request, response) => {
    if (request.url === '/events') response.write('first')
    else response.end('two')
  })
  const port = await freePort()
  const start = () => createServer((socket) => void http2.emit('connection', socket)).listen(port, '127.0.0.1')
  const former = start()
  await edge.route(HOST, `http://127.0.0.1:${port}`, { upstreamProtocol: 'h2c' })
  const target = { port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }
  const events = await speak(target, `GET /events HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await events.until('first')
  events.socket.setTimeout(0)
  former.close()
  ends.push(async () => events.socket.destroy())
  return {
    startNext() {
      const next = start()
      ends.push(async () => next.close())
    },
  }
}

const POST = ['POST / HTTP/1.1\r\nContent-Length: 1', { body: 'x' }] as const

test('who finds the last connection to a restarting upstream over HTTP/2 full waits for the next process', async () => {
  const edge = await startEdge(8_000)
  const { startNext } = await startRestarting(edge)
  const waiting = [ask(edge), ask(edge, ...POST)]
  await expect.poll(async () => (await edge.report()).exchanges).toBe(3)
  startNext()
  for (const answer of await Promise.all(waiting)) expect(answer).toMatchObject({ status: 200, body: expect.stringContaining('two') })
})

test('a request that a restarting upstream over HTTP/2 says it has not looked at waits for the next process', async () => {
  const edge = await startEdge(8_000)
  const port = await freePort()
  const former = createServer((socket) => {
    socket.on('error', () => {}).write(frame(SETTINGS, 0, 0))
    socket.on('data', (bytes) => {
      if (!bytes.includes(HOST)) return
      former.close()
      socket.end(frame(GOAWAY, 0, 0, Buffer.alloc(8)))
    })
  })
  await new Promise<void>((resolve) => former.listen(port, '127.0.0.1', resolve))
  await edge.route(HOST, `http://127.0.0.1:${port}`, { upstreamProtocol: 'h2c' })
  const { answer } = await visit(edge)
  await held(edge, 1)
  expect(await ask(edge, ...POST)).toMatchObject({ status: 502, error: 'refused' })
  const next = createHttp2Server((_request, response) => void response.end('two'))
  await listen(next as unknown as Server, port)
  expect(await answer).toMatchObject({ status: 200, body: expect.stringContaining('two') })
  expect((await edge.report()).bridge).toEqual({ held: 0, outages: 0, circuits: 0 })
})

test('whose time beside full connections is over is told why there is no other, and held where that is done', async () => {
  const edge = await startEdge(8_000, { timeouts: { connectMs: 300 } })
  const { startNext } = await startRestarting(edge)
  const get = ask(edge)
  expect(await ask(edge, ...POST)).toMatchObject({ status: 502, error: 'refused' })
  await held(edge, 1)
  startNext()
  expect(await get).toMatchObject({ status: 200, body: expect.stringContaining('two') })
})

test('a connection that ends without a word is tried again, a half answer never', async () => {
  const edge = await startEdge(8_000)
  let connections = 0
  const silent = await listen(
    createServer((socket) => {
      connections += 1
      if (connections < 3) socket.once('data', () => socket.destroy())
      else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    }),
    0,
  )
  await edge.route(HOST, `http://127.0.0.1:${silent}`)
  expect(await ask(edge)).toMatchObject({ status: 200, body: 'ok' })
  expect(connections).toBe(3)

  let halves = 0
  const half = await listen(
    createServer((socket) => {
      halves += 1
      socket.once('data', () => socket.end('HTTP/1.1 2'))
    }),
    0,
  )
  await edge.route(HOST, `http://127.0.0.1:${half}`)
  expect(await ask(edge)).toMatchObject({ status: 502, error: 'reset' })
  expect(halves).toBe(1)
})

test.each(['end', 'resetAndDestroy'] as const)(
  'a forwarder that turns connections away (%s) before TLS, while nobody is behind it, is waited for',
  async (turnAway) => {
    const ca = await createTestCa()
    const edge = await startEdge(8_000, { upstream: { ca: [ca.certPem] } })
    const { chainPem, keyPem } = await ca.issue(['127.0.0.1'])
    const application = await listen(
      createHttpsServer({ cert: chainPem, key: keyPem }, (_request, response) => response.end('here')),
      0,
    )
    let turnedAway = 0
    const forwarder = createServer((socket) => {
      if (turnedAway < 5) {
        turnedAway += 1
        socket.once('data', () => socket[turnAway]())
      } else socket.pipe(connect(application, '127.0.0.1')).pipe(socket)
    })
    await edge.route(HOST, `https://127.0.0.1:${await listen(forwarder, 0)}`)
    expect(await ask(edge)).toMatchObject({ status: 200, body: 'here' })
    expect(turnedAway).toBe(5)
  },
)

// Unread is what is reset within a tenth of a second: one in which the machine stands still is time to read for all that the edge can tell.
test('what may have been read is sent three times at most; who turns connections away unread is waited for', { retry: 4 }, async () => {
  const edge = await startEdge(4_000)
  const seen: Record<string, number> = { read: 0, unread: 0 }
  const read = createServer((socket) => {
    socket.once('data', () => {
      seen.read! += 1
      socket.end()
    })
  })
  await edge.route(HOST, `http://127.0.0.1:${await listen(read, 0)}`)
  expect(await ask(edge)).toMatchObject({ status: 502, error: 'reset' })
  expect(seen.read).toBe(3)
  await vi.waitFor(() => expect(edge.lines.findLast(({ msg }) => msg === 'request')).toMatchObject({ status: 502, attempts: 3 }), PATIENCE)

  const unread = createServer({ pauseOnConnect: true }, (socket) => {
    seen.unread! += 1
    if (seen.unread! < 5) setTimeout(() => socket.resetAndDestroy(), 20)
    else socket.resume().once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
  })
  await edge.route(HOST, `http://127.0.0.1:${await listen(unread, 0)}`)
  expect(await ask(edge)).toMatchObject({ status: 200, body: 'ok' })
  expect(seen.unread).toBe(5)
})

test('a reset behind a request that was read is no sign that it was not: three times, over HTTP/2 too', async () => {
  const edge = await startEdge(5_000)
  let seen = 0
  const late = createServer((socket) => {
    socket.once('data', () => {
      seen += 1
      setTimeout(() => socket.resetAndDestroy(), 200)
    })
  })
  await edge.route(HOST, `http://127.0.0.1:${await listen(late, 0)}`)
  expect(await ask(edge)).toMatchObject({ status: 502, error: 'reset' })
  expect(seen).toBe(3)

  const last: { socket?: Socket } = {}
  const http2 = createHttp2Server(() => {
    seen += 1
    last.socket!.resetAndDestroy()
  })
  http2.on('connection', (socket: Socket) => Object.assign(last, { socket }))
  await edge.route(HOST, `http://127.0.0.1:${await listen(http2, 0)}`, { upstreamProtocol: 'h2c' })
  expect(await ask(edge)).toMatchObject({ status: 502, error: 'reset' })
  expect(seen).toBe(6)
})

test('the connections that others leave behind make no more of it', async () => {
  const edge = await startEdge(5_000)
  let fatal = 0
  const raw = createServer((socket) => {
    socket.on('data', (bytes) => {
      if (!bytes.includes('/fatal')) return void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine')
      fatal += 1
      socket.end()
    })
  })
  await edge.route(HOST, `http://127.0.0.1:${await listen(raw, 0)}`)
  await ask(edge)
  let isOver = false
  const answer = ask(edge, 'GET /fatal HTTP/1.1').finally(() => {
    isOver = true
  })
  while (!isOver) expect(await ask(edge)).toMatchObject({ status: 200 })
  expect(await answer).toMatchObject({ status: 502, error: 'reset' })
  expect(fatal).toBe(3)
})

test('one request that the application falls over holds up nobody else', async () => {
  const edge = await startEdge(60_000)
  const application = await startApplication(0, (request, response) => {
    if (request.url === '/fatal') request.socket.destroy()
    else response.end('fine')
  })
  await edge.route(HOST, `http://127.0.0.1:${application.port}`)
  const fatal = await visit(edge, 'GET /fatal HTTP/1.1')
  await held(edge, 1)
  expect(await ask(edge)).toMatchObject({ status: 200, body: 'fine' })
  fatal.reader.socket.destroy()
  await vi.waitFor(async () => expect((await edge.report()).bridge).toEqual({ held: 0, outages: 0, circuits: 0 }), PATIENCE)
})

test('the bound holds: after it there is a 502 with the reason', async () => {
  const edge = await startEdge(2_000)
  await edge.route(HOST, `http://127.0.0.1:${await freePort()}`)
  expect(await ask(edge)).toMatchObject({ status: 502, error: 'refused' })
  expect(await metric(edge, 'namesake_edge_held_requests_total\\{outcome="failed"\\}')).toBe(1)
  await vi.waitFor(() => expect(edge.lines.find(({ msg }) => msg === 'request')).toBeDefined(), PATIENCE)
  const { heldMs } = edge.lines.find(({ msg }) => msg === 'request') as { heldMs: number }
  expect(heldMs).toBeGreaterThan(300)
  expect((await edge.report()).bridge.held).toBe(0)
})

test('of 60 visitors of one project 50 wait and 10 are told at once; those of another still find room', async () => {
  const edge = await startEdge(30_000)
  const port = await freePort()
  await edge.route(HOST, `http://127.0.0.1:${port}`)
  await edge.route('other.customer.com', `http://127.0.0.1:${port}`, { projectId: '2' })
  const outcomes: (number | undefined)[] = []
  const all = Array.from({ length: 60 }, async () => {
    const answer = await ask(edge)
    outcomes.push(answer?.status)
    return answer
  })
  await vi.waitFor(() => expect(outcomes).toHaveLength(10), PATIENCE)
  expect(outcomes).toEqual(Array(10).fill(502))
  await held(edge, 50)
  const other = await visit(edge, undefined, { hostname: 'other.customer.com' })
  await held(edge, 51)
  expect(await metric(edge, 'namesake_edge_held_requests_total\\{outcome="turned-away"\\}')).toBe(10)
  const application = await startApplication(port)
  const answers = await Promise.all(all)
  expect(answers.filter((answer) => answer?.status === 200)).toHaveLength(50)
  expect(await other.answer).toMatchObject({ status: 200 })
  expect(application.seen).toHaveLength(51)
})

test('one client that visits many upstreams which are away leaves room for the visitors of others', async () => {
  const edge = await startEdge(60_000, { ceilings: { processMax: 100, perClientMax: 50 } })
  const away = `http://127.0.0.1:${await freePort()}`
  const port = await freePort()
  await edge.route(HOST, `http://127.0.0.1:${port}`, { projectId: 'another' })
  let refused = 0
  for (let n = 0; n < 20; n += 1) {
    const hostname = `shop${n}.customer.com`
    await edge.route(hostname, away, { projectId: `${n}` })
    const session = await openHttp2({ port: edge.httpsPort, hostname, ca: edge.ca.certPem, more: { localAddress: '127.0.0.2' } })
    ends.push(async () => session.destroy())
    for (let asked = 0; asked < 50; asked += 1) {
      requestHttp2(session, { ':path': '/', ':authority': hostname }).then(
        ({ headers }) => {
          if (headers[':status'] === 502) refused += 1
        },
        () => {},
      )
    }
  }
  await vi.waitFor(async () => expect((await edge.report()).bridge.held + refused).toBe(1_000), { ...PATIENCE, interval: 20 })
  const { answer } = await visit(edge)
  await held(edge, 201)
  await startApplication(port)
  expect(await answer).toMatchObject({ status: 200 })
})

test('those who waited come to a starting application in growing lots, and not all at once', async () => {
  const edge = await startEdge(30_000)
  const port = await freePort()
  await edge.route(HOST, `http://127.0.0.1:${port}`)
  const all = Array.from({ length: 40 }, () => ask(edge))
  await held(edge, 40)
  const arrivals: number[] = []
  await startApplication(port, (_request, response) => {
    arrivals.push(performance.now())
    response.end('here')
  })
  for (const answer of await Promise.all(all)) expect(answer).toMatchObject({ status: 200 })
  // Lots of 1, 2, 4, 8, 16 and 9, a tenth of a second apart at least.
  expect(arrivals).toHaveLength(40)
  expect(arrivals.at(-1)! - arrivals[0]!).toBeGreaterThan(300)
})

test('when a visitor goes while it is held, nothing of it is left and nothing is sent', async () => {
  const edge = await startEdge(30_000)
  const port = await freePort()
  await edge.route(HOST, `http://127.0.0.1:${port}`)
  const { reader } = await visit(edge, 'GET /gone HTTP/1.1')
  const session = await openHttp2({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })
  const stream = session.request({ ':path': '/gone-too', ':authority': HOST })
  stream.on('error', () => {})
  await held(edge, 2)
  reader.socket.destroy()
  stream.close()
  await held(edge, 0)
  await vi.waitFor(async () => expect((await edge.report()).exchanges).toBe(0), PATIENCE)
  const application = await startApplication(port)
  expect(await ask(edge)).toMatchObject({ status: 200 })
  expect(application.seen).toEqual(['GET /'])
  expect(await metric(edge, 'namesake_edge_held_requests_total\\{outcome="left"\\}')).toBe(2)
  session.close()
})

test('an upstream that stays down opens its circuit; others are served; it closes when the upstream is back', async () => {
  const edge = await startEdge(400)
  const port = await freePort()
  const well = await startApplication(0)
  await edge.route(HOST, `http://127.0.0.1:${port}`)
  await edge.route('other.customer.com', `http://127.0.0.1:${well.port}`, { projectId: '2' })
  await vi.waitFor(async () => expect(await ask(edge)).toMatchObject({ status: 502, error: 'circuit-open' }), { timeout: 20_000 })
  const refused = await ask(edge, 'POST / HTTP/1.1\r\nContent-Length: 1', { body: 'x' })
  expect(refused).toMatchObject({ status: 502, error: 'circuit-open' })
  expect(Number(refused!.retryAfter)).toBeGreaterThanOrEqual(1)
  expect(await metric(edge, 'namesake_edge_open_circuits')).toBe(1)
  expect(edge.lines.find(({ msg }) => String(msg).startsWith('an upstream stays down'))).toMatchObject({ project: '1', reason: 'refused' })
  expect(await ask(edge, undefined, { hostname: 'other.customer.com' })).toMatchObject({ status: 200 })
  await startApplication(port)
  await vi.waitFor(async () => expect((await edge.report()).bridge.circuits).toBe(0), { timeout: 30_000 })
  expect(await ask(edge)).toMatchObject({ status: 200 })
  expect((await edge.report()).bridge).toEqual({ held: 0, outages: 0, circuits: 0 })
})

test('what an open circuit refuses is logged and counted as what its visitor was told', async () => {
  const edge = await startEdge(200)
  await edge.route(HOST, `http://127.0.0.1:${await freePort()}`)
  await vi.waitFor(async () => expect(await ask(edge)).toMatchObject({ error: 'circuit-open' }), { timeout: 20_000 })
  await vi.waitFor(() => expect(edge.lines.at(-1)).toMatchObject({ status: 502, error: 'circuit-open' }), PATIENCE)
  expect(await metric(edge, 'namesake_edge_upstream_errors_total\\{reason="circuit-open"\\}')).toBeGreaterThan(0)
})

test('another project with the same upstream has a circuit of its own', async () => {
  const edge = await startEdge(300)
  const port = await freePort()
  await edge.route(HOST, `http://127.0.0.1:${port}`)
  await edge.route('other.customer.com', `http://127.0.0.1:${port}`, { projectId: '2' })
  await vi.waitFor(async () => expect(await ask(edge)).toMatchObject({ error: 'circuit-open' }), { timeout: 20_000 })
  expect(await ask(edge, undefined, { hostname: 'other.customer.com' })).toMatchObject({ status: 502, error: 'refused' })
})

test('a hostname that is removed, or goes to another project, while its visitor waits is not served any more', async () => {
  const edge = await startEdge(30_000)
  const port = await freePort()
  await edge.route(HOST, `http://127.0.0.1:${port}`)
  await edge.route('other.customer.com', `http://127.0.0.1:${port}`)
  const moved = await visit(edge)
  const removed = await visit(edge, undefined, { hostname: 'other.customer.com' })
  await held(edge, 2)
  await edge.route(HOST, `http://127.0.0.1:${port}`, { projectId: '2' })
  edge.hosts.delete('other.customer.com')
  for (const { answer } of [moved, removed]) expect(await answer).toMatchObject({ status: 404, error: 'unknown-hostname' })
  expect(await metric(edge, 'namesake_edge_held_requests_total\\{outcome="failed"\\}')).toBe(2)
})

test("who waits goes to the project's new upstream as soon as there is one, and waits there too", async () => {
  const edge = await startEdge(30_000)
  await edge.route(HOST, `http://127.0.0.1:${await freePort()}`)
  const session = await openHttp2({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })
  const first = await visit(edge)
  const second = requestHttp2(session, { ':path': '/', ':authority': HOST })
  await held(edge, 2)
  const well = await startApplication(0)
  await edge.route(HOST, `http://127.0.0.1:${well.port}`)
  expect(await first.answer).toMatchObject({ status: 200 })
  expect((await second).headers[':status']).toBe(200)
  expect(well.seen).toHaveLength(2)

  await edge.route(HOST, `http://127.0.0.1:${await freePort()}`)
  const third = await visit(edge)
  await held(edge, 1)
  const late = await freePort()
  await edge.route(HOST, `http://127.0.0.1:${late}`)
  await vi.waitFor(async () => expect((await edge.report()).bridge).toMatchObject({ held: 1, outages: 3 }), PATIENCE)
  const application = await startApplication(late)
  expect(await third.answer).toMatchObject({ status: 200 })
  expect(application.seen).toEqual(['GET /'])
  expect((await edge.report()).bridge.held).toBe(0)
  expect(await metric(edge, 'namesake_edge_held_requests_total\\{outcome="served"\\}')).toBe(3)
  session.close()
})

test('a stop of the edge ends the waiting soon, with an answer', async () => {
  const edge = await startEdge(60_000)
  await edge.route(HOST, `http://127.0.0.1:${await freePort()}`)
  const { answer } = await visit(edge)
  const session = await openHttp2({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })
  const other = requestHttp2(session, { ':path': '/', ':authority': HOST })
  await held(edge, 2)
  const stopped = edge.stop(20_000)
  expect(await answer).toMatchObject({ status: 502, error: 'refused' })
  expect((await other).headers[':status']).toBe(502)
  session.close()
  await stopped
})

test('a certificate that is wrong, a name that does not exist and an answer that is no HTTP are told at once', async () => {
  const edge = await startEdge(60_000)
  const mail = await listen(
    createServer((socket) => void socket.end('220 mail.example.com ESMTP\r\n\r\n')),
    0,
  )
  await edge.route(HOST, `http://127.0.0.1:${mail}`)
  expect(await ask(edge)).toMatchObject({ status: 502, error: 'malformed' })
  await edge.route(HOST, `https://127.0.0.1:${(await startApplication(0)).port}`)
  expect(await ask(edge)).toMatchObject({ status: 502, error: 'tls' })
  await edge.route(HOST, 'http://does-not-exist.invalid')
  expect(await ask(edge)).toMatchObject({ status: 502, error: 'dns' })
})
