import { once } from 'node:events'
import { createServer as createHttp2Server, type Http2Server, type IncomingHttpHeaders } from 'node:http2'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { beforeEach, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2, requestHttp2 } from '../../test/support/raw-visitor.ts'
import type { ClientLoad } from './admission.ts'
import { UpstreamLine } from './upstream-line.ts'

const HOST = 'shop.customer.com'
const GREEDY = '127.0.0.2'
const STREAMS = 100
const HALF_OF_CONNECTIONS = 512 // of 1,024, the least that an upstream may have
const STREAMS_OF_HTTP2_UPSTREAM = 10
const HALF_OF_STREAMS = 32 * STREAMS_OF_HTTP2_UPSTREAM
const WAITING_PER_CLIENT_MAX = 1_024
/** Node accepts one connection a turn, and the system takes no more than these before. */
const BACKLOG = 4_096
const WAIT_MS = 10_000

/** Applications that leave requests for `/held` without an answer; new ones for each test, since what a former one opened may still wait to be accepted. */
let sockets: Set<Socket>
let http1: Server
let http2: Http2Server
let edge: TestEdge
beforeEach(async () => {
  sockets = new Set()
  http1 = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.on('data', (bytes) => bytes.includes(' /held ') || socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserved'))
  })
  http2 = createHttp2Server({ settings: { maxConcurrentStreams: STREAMS_OF_HTTP2_UPSTREAM } }, (request, response) => {
    if (request.url !== '/held') response.end('served')
  })
  for (const server of [http1, http2]) await once(server.listen({ host: '127.0.0.1', port: 0, backlog: BACKLOG }), 'listening')
  edge = await startTestEdge({ ceilings: { processMax: 100, perClientMax: 100 } })
  return async () => {
    await edge.stop(0)
    for (const socket of sockets) socket.destroy()
    http1.close()
    http2.close()
  }
})

const urlOf = (server: Server | Http2Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const openFrom = (localAddress: string, hostname = HOST) =>
  openHttp2({ port: edge.httpsPort, hostname, ca: edge.ca.certPem, more: { localAddress } })
const head = (path: string, hostname = HOST) => ({ ':path': path, ':authority': hostname })

/** Requests of one client without an answer; resolves to how many of them are refused, once it is known of each. */
async function askForAll(count: number, hostname = HOST): Promise<number> {
  const before = (await edge.report()).exchanges
  const refusals: IncomingHttpHeaders[] = []
  for (let asked = 0; asked < count; asked += STREAMS) {
    const session = await openFrom(GREEDY, hostname)
    for (let n = 0; n < Math.min(STREAMS, count - asked); n += 1) {
      requestHttp2(session, head('/held', hostname)).then(
        ({ headers }) => headers[':status'] && refusals.push(headers),
        () => {},
      )
    }
  }
  await expect.poll(async () => (await edge.report()).exchanges - before + refusals.length).toBe(count)
  for (const refusal of refusals) expect(refusal).toMatchObject({ ':status': 502, 'namesake-error': 'busy' })
  return refusals.length
}

const askAsAnother = async () => (await requestHttp2(await openFrom('127.0.0.1'), head('/'))).body

test('a client over HTTP/2 takes half of an upstream’s connections, and leaves the rest to others', async () => {
  await edge.route(HOST, urlOf(http1))
  expect(await askForAll(HALF_OF_CONNECTIONS + 88)).toBe(87)
  expect(await askAsAnother()).toBe('served')
})

test('so it is where the upstream speaks HTTP/2', async () => {
  await edge.route(HOST, urlOf(http2), { upstreamProtocol: 'h2c' })
  expect(await askAsAnother()).toBe('served') // it is known by now how many streams a connection takes
  const refused = await askForAll(HALF_OF_STREAMS + 380)
  expect(refused).toBeGreaterThan(200)
  expect(refused).toBeLessThan(380)
  expect(await askAsAnother()).toBe('served')
})

test('an edge for many visitors has as many connections to an upstream as half of them', async () => {
  const wide = await startTestEdge({ ceilings: { processMax: 2_600, perClientMax: 0 } })
  await edge.stop(0)
  edge = wide
  await edge.route(HOST, urlOf(http1))
  expect(await askForAll(1_200)).toBe(0)
  expect(await askAsAnother()).toBe('served')
})

test('one project’s upstreams leave connections to those of others, and so do several', async () => {
  const narrow = await startTestEdge({ ceilings: { processMax: 0, perClientMax: 0, upstreamMax: 60 }, timeouts: { connectMs: 500 } })
  await edge.stop(0)
  edge = narrow
  const taken = async () => {
    const { exchanges, upstream } = await edge.report()
    return [exchanges, upstream.connections]
  }
  const [one, two, three] = ['one.customer.com', 'two.customer.com', 'three.customer.com'] as const
  for (const hostname of [one, two, three]) await edge.route(hostname, urlOf(http1), { projectId: hostname })
  await askForAll(40, one)
  await expect.poll(taken).toEqual([30, 30])
  await askForAll(40, two)
  await expect.poll(taken).toEqual([45, 45])
  expect((await requestHttp2(await openFrom('127.0.0.1', three), head('/', three))).body).toBe('served')
  for (const socket of sockets) socket.destroy()
  await expect.poll(taken).toEqual([0, 0])
  await askForAll(40, three)
  await expect.poll(taken).toEqual([30, 30])
})

test('who waits for a connection of its project’s share waits on when one closes that another project may have', async () => {
  const narrow = await startTestEdge({ ceilings: { processMax: 0, perClientMax: 0, upstreamMax: 8 }, timeouts: { connectMs: 60_000 } })
  await edge.stop(0)
  edge = narrow
  const [one, two] = ['one.customer.com', 'two.customer.com'] as const
  for (const hostname of [one, two]) await edge.route(hostname, urlOf(http1), { projectId: hostname })
  const connections = async () => (await edge.report()).upstream.connections
  await askForAll(4, one)
  await expect.poll(() => sockets.size).toBe(4)
  const [first, ...others] = sockets
  await askForAll(2, two)
  const session = await openFrom('127.0.0.1', one)
  const waiting = Array.from({ length: 20 }, () => requestHttp2(session, head('/', one)))
  await expect.poll(async () => (await edge.report()).exchanges).toBe(26)
  first!.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nheld')
  await expect.poll(connections).toBe(5)
  for (const socket of others) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nheld')
  expect((await Promise.all(waiting)).map(({ body }) => body)).toEqual(waiting.map(() => 'served'))
})

test('nor does one client take all connections, with the upstreams of however many projects', async () => {
  const narrow = await startTestEdge({ ceilings: { processMax: 0, perClientMax: 100, upstreamMax: 60 } })
  await edge.stop(0)
  edge = narrow
  const hostnames = Array.from({ length: 12 }, (_, n) => `shop${n}.customer.com`)
  for (const hostname of [...hostnames, HOST]) await edge.route(hostname, urlOf(http1), { projectId: hostname })
  for (const hostname of hostnames) await askForAll(5, hostname)
  await expect.poll(async () => (await edge.report()).upstream.connections).toBe(31)
  expect(await askAsAnother()).toBe('served')
})

test('of those who wait for an upstream, one client’s are a quarter at most, whether or not it stays', async () => {
  const line = new UpstreamLine<string>()
  const [greedy, other] = [1, 2].map((): ClientLoad => ({ connections: 1, exchanges: 0, waiting: 0, held: 0 })) as [ClientLoad, ClientLoad]
  const waiting = Array.from({ length: WAITING_PER_CLIENT_MAX }, () => line.wait(WAIT_MS, { load: greedy }))
  await expect(line.wait(WAIT_MS, { load: greedy })).rejects.toMatchObject({ reason: 'busy' })
  const others = line.wait(WAIT_MS, { load: other })
  line.next()!.resolve('a connection')
  expect(await waiting[0]).toBe('a connection')
  waiting.push(line.wait(WAIT_MS, { load: greedy }))
  for (const _ of waiting) line.next()!.resolve('another')
  expect(await others).toBe('another')
  expect([greedy.waiting, other.waiting, line.length]).toEqual([0, 0, 0])
})

test('what takes no bodies is for the first in the line that has none, and leaves the others their places', async () => {
  const line = new UpstreamLine<string>()
  const waiting = [true, false, true, false].map((hasBody) => line.wait(WAIT_MS, { hasBody }))
  for (const what of ['first', 'second']) line.next({ takesBodies: false })!.resolve(what)
  expect(line.next({ takesBodies: false })).toBe(undefined)
  for (const what of ['third', 'fourth']) line.next()!.resolve(what)
  expect(await Promise.all(waiting)).toEqual(['third', 'first', 'fourth', 'second'])
})
