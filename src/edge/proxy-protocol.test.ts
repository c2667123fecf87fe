import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { RawReader, speakPlain } from '../../test/support/raw-visitor.ts'
import { startUpstream, type Upstream } from '../../test/support/upstream.ts'
import { readProxyHeader } from './proxy-protocol.ts'

const HOST = 'shop.customer.com'
const V2_SIGNATURE = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
const V2_IPV4 = Buffer.from([...V2_SIGNATURE, 0x21, 0x11, 0, 12, 192, 0, 2, 7, 10, 0, 0, 1, 0x10, 0, 1, 0xbb])
const V2_MAPPED = Buffer.from([
  ...V2_SIGNATURE,
  0x21,
  0x21,
  0,
  36,
  ...new Array(10).fill(0),
  255,
  255,
  192,
  0,
  2,
  8,
  ...new Array(16).fill(0),
  0,
  1,
  0,
  2,
])
const V2_LOCAL = Buffer.from([...V2_SIGNATURE, 0x20, 0, 0, 0])

test.each([
  ['version 1, IPv4', Buffer.from('PROXY TCP4 192.0.2.7 10.0.0.1 4096 443\r\n'), '192.0.2.7'],
  ['version 1, IPv6', Buffer.from('PROXY TCP6 2001:db8::7 2001:db8::1 4096 443\r\n'), '2001:db8::7'],
  ['version 1, unknown', Buffer.from('PROXY UNKNOWN\r\n'), undefined],
  ['version 2, IPv4', V2_IPV4, '192.0.2.7'],
  ['version 2, IPv4-mapped', V2_MAPPED, '192.0.2.8'],
  ['version 2, local', V2_LOCAL, undefined],
])('%s is read whole, and waited for when in pieces', (_name, header, source) => {
  expect(readProxyHeader(Buffer.concat([header, Buffer.from('GET')]))).toEqual({ kind: 'header', source, bytes: header.length })
  for (let end = 0; end < header.length; end += 1) expect(readProxyHeader(header.subarray(0, end)).kind).toBe('incomplete')
})

test.each([
  'GET / HTTP/1.1\r\n\r\n',
  'PROXY TCP4 2001:db8::7 10.0.0.1 1 2\r\n',
  'PROXY TCP4 999.0.2.7 10.0.0.1 1 2\r\n',
  'PROXY TCP5 192.0.2.7 10.0.0.1 1 2\r\n',
  `PROXY ${'x'.repeat(200)}`,
  `${Buffer.from(V2_SIGNATURE).toString('latin1')}\x31\x11\x00\x0c`,
])('%j is no header', (text) => {
  expect(readProxyHeader(Buffer.from(text.padEnd(16, '\0'), 'latin1')).kind).toBe('invalid')
})

test.each([
  ['IPv4', 0x11, 12],
  ['IPv6', 0x21, 36],
  ['UNIX', 0x31, 216],
])('a header of version 2 with fewer bytes than an address of its family has, %s, is no header', (_name, family, needed) => {
  const header = (length: number) => Buffer.from([...V2_SIGNATURE, 0x21, family, 0, length, ...new Array(length).fill(1)])
  for (const length of [0, 3, needed - 1]) expect(readProxyHeader(header(length)).kind).toBe('invalid')
  expect(readProxyHeader(header(needed + 3))).toMatchObject({ kind: 'header', bytes: 16 + needed + 3 })
})

test('a family that there is not is no header, unless the proxy speaks for itself', () => {
  const header = (command: number, family: number) => Buffer.from([...V2_SIGNATURE, command, family, 0, 0])
  expect(readProxyHeader(header(0x21, 0x41)).kind).toBe('invalid')
  for (const [command, family] of [
    [0x21, 0x00],
    [0x20, 0x41],
    [0x20, 0x11],
  ] as const)
    expect(readProxyHeader(header(command, family))).toEqual({ kind: 'header', source: undefined, bytes: 16 })
})

let edge: TestEdge
let upstream: Upstream
beforeAll(async () => {
  upstream = await startUpstream()
  edge = await startTestEdge({ proxyProtocol: 'required' })
  await edge.route(HOST, upstream.url)
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})

test.each([
  ['in one piece with the handshake', V2_IPV4, 0],
  ['byte by byte', Buffer.from('PROXY TCP4 192.0.2.7 10.0.0.1 4096 443\r\n'), 1],
])('the address in the header is the visitor, %s', async (_name, header, step) => {
  const socket = connect(edge.httpsPort, '127.0.0.1')
  socket.setNoDelay(true)
  if (step === 0) socket.write(header)
  else for (const byte of header) await new Promise((resolve) => socket.write(Buffer.from([byte]), resolve))
  const tls = connectTls({ socket, servername: HOST, ca: edge.ca.certPem })
  tls.on('error', () => {})
  const reader = new RawReader(tls)
  tls.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`)
  const { body } = await reader.answer()
  expect(JSON.parse(body).fields.join('\n')).toContain('X-Forwarded-For\n192.0.2.7')
  tls.destroy()
})

test('a connection whose header claims an address and has none is closed', async () => {
  const header = Buffer.from([...V2_SIGNATURE, 0x21, 0x11, 0, 3, 192, 0, 2]).toString('latin1')
  expect(await speakPlain(edge.httpPort, `${header}GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`).closed()).toBe('')
})

test('port 80 wants the header too, and a connection without one is closed', async () => {
  const reader = speakPlain(edge.httpPort, `PROXY TCP4 192.0.2.7 10.0.0.1 4096 80\r\nGET /a HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  expect((await reader.answer()).field('location')).toBe(`https://${HOST}/a`)
  reader.socket.destroy()
  expect(await speakPlain(edge.httpPort, `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`).closed()).toBe('')
})

test.each([
  ['required', 'a ClientHello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', /without the PROXY protocol/],
  ['off', 'a header of version 1', 'PROXY TCP4 192.0.2.7 10.0.0.1 4096 443\r\n\x16\x03\x01', /NAMESAKE_PROXY_PROTOCOL=required/],
  ['off', 'a header of version 2', V2_IPV4.toString('latin1'), /NAMESAKE_PROXY_PROTOCOL=required/],
] as const)(
  'where the setting %j does not fit what comes, %s, the log says once what to set',
  async (proxyProtocol, _what, bytes, advice) => {
    const own = await startTestEdge({ proxyProtocol })
    const said = () => own.lines.filter(({ msg }) => msg !== undefined)
    for (let n = 0; n < 3; n += 1) await speakPlain(own.httpsPort, bytes).closed()
    await expect.poll(said).toMatchObject([{ level: 40, client: '127.0.0.1', connections: 1, msg: expect.stringMatching(advice) }])
    await own.stop(0)
  },
)

test('who closes before it has said anything, as health checks of load balancers do, is nothing to log', async () => {
  const own = await startTestEdge({ proxyProtocol: 'required' })
  for (const port of [own.httpsPort, own.httpPort]) {
    const socket = connect(port, '127.0.0.1')
    const closed = once(socket.resume(), 'close')
    socket.end()
    await closed
  }
  await expect.poll(async () => (await own.report()).admission.open).toBe(0)
  expect(own.lines).toEqual([])
  await own.stop(0)
})
