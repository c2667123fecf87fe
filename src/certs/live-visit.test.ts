import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { freePort } from '../../test/support/ports.ts'
import { parseHostname } from '../hostname.ts'
import { readCertificate } from './certificate.ts'
import { visitLive } from './live-visit.ts'

const shop = parseHostname('shop.customer.com')
const asked: string[] = []
const upstream = createServer((request, response) => {
  asked.push(`${request.method} ${request.headers.host}`)
  response.writeHead(500).end()
})

let edge: TestEdge
beforeAll(async () => {
  edge = await startTestEdge()
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  await edge.route(shop, `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`)
})
afterAll(async () => {
  await edge.stop(0)
  upstream.close()
})

async function serialOf(hostname: string, at = edge): Promise<string> {
  return readCertificate(((await at.certificates.get(hostname)) as { leafPem: string }).leafPem).serial
}

const visit = (changes: Partial<Parameters<typeof visitLive>[0]>) =>
  visitLive({ hostname: shop, addresses: ['127.0.0.1'], port: edge.httpsPort, serial: 'none', ...changes })

test('a hostname whose own certificate is presented is seen, whatever its application answers', async () => {
  expect(await visit({ serial: await serialOf(shop) })).toEqual({ kind: 'seen' })
  expect(asked).toEqual([`HEAD ${shop}:${edge.httpsPort}`])
})

test('so it is when only one of its addresses answers', async () => {
  expect(await visit({ serial: await serialOf(shop), addresses: ['::1', '127.0.0.1'] })).toEqual({ kind: 'seen' })
})

test('an edge that still presents the certificate before this one is told from that', async () => {
  expect(await visit({})).toMatchObject({ kind: 'not-seen', sentence: expect.stringMatching(/presents another certificate\.$/) })
})

test('a hostname that the edge refuses is not seen', async () => {
  expect(await visit({ hostname: parseHostname('nobody.customer.com') })).toMatchObject({
    kind: 'not-seen',
    sentence: expect.stringMatching(/: no secure connection came about\.$/),
    causes: [expect.stringContaining('SSL alert')],
  })
})

test.each([
  ['hangs up', '', 'the connection was broken off'],
  ['speaks another protocol', '220 mail.customer.com ESMTP\r\n', 'no secure connection came about'],
])('who %s is described without a code', async (_, greeting, reason) => {
  const other = createTcpServer((socket) => socket.on('error', () => {}).end(greeting))
  await once(other.listen(0, '127.0.0.1'), 'listening')
  const { port } = other.address() as AddressInfo
  const outcome = await visit({ port })
  other.close()
  expect(outcome).toMatchObject({ sentence: expect.stringContaining(`port ${port} of 127.0.0.1: ${reason}.`) })
})

test('an address that cannot be reached is named, with the port', async () => {
  const port = await freePort()
  expect(await visit({ port })).toEqual({
    kind: 'not-seen',
    sentence: `Our own request to https://${shop} did not come through: port ${port} of 127.0.0.1: nothing there accepts connections.`,
    causes: [`Error: connect ECONNREFUSED 127.0.0.1:${port}`],
  })
})

test('an edge behind a load balancer is asked as that one does, with the header of the PROXY protocol', async () => {
  const behind = await startTestEdge({ proxyProtocol: 'required', trustedProxies: ['127.0.0.1'] })
  try {
    await behind.route(shop, `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`)
    const target = { port: behind.httpsPort, serial: await serialOf(shop, behind) }
    expect(await visit({ ...target, proxyHeader: true })).toEqual({ kind: 'seen' })
    expect(await visit(target)).toMatchObject({ kind: 'not-seen' })
  } finally {
    await behind.stop(0)
  }
})

test('the port that visitors use is named, whichever is asked', async () => {
  expect(await visit({ serial: await serialOf(shop), publicPort: 443 })).toEqual({ kind: 'seen' })
  expect(asked.at(-1)).toBe(`HEAD ${shop}`)
})

test('who has no address cannot be asked', async () => {
  expect(await visit({ addresses: [] })).toMatchObject({ sentence: expect.stringContaining('it has no address') })
})

test('an address that answers with another protocol, or not at all, holds up neither the visit nor the others', async () => {
  const sockets: Socket[] = []
  const { chainPem: cert, keyPem: key } = await edge.ca.issue([shop])
  const change = createTlsServer({ cert, key }, (socket) => {
    sockets.push(socket)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  const silent = createTcpServer((socket) => void sockets.push(socket))
  try {
    await once(change.listen(0, '127.0.0.1'), 'listening')
    const { port } = change.address() as AddressInfo
    expect(await visit({ port })).toMatchObject({ kind: 'not-seen', sentence: expect.stringContaining('no answer within 5 seconds') })
    await once(silent.listen(edge.httpsPort, '127.0.0.9'), 'listening')
    const begunMs = performance.now()
    expect(await visit({ serial: await serialOf(shop), addresses: ['127.0.0.9', '127.0.0.1'] })).toEqual({ kind: 'seen' })
    expect(performance.now() - begunMs).toBeLessThan(4_000)
  } finally {
    for (const socket of sockets) socket.destroy()
    change.close()
    silent.close()
  }
})
