import { once } from 'node:events'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { createServer } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { createTestCa } from '../../test/support/certificates.ts'
import { startTestEdge } from '../../test/support/edge.ts'
import { speak } from '../../test/support/raw-visitor.ts'

const HOST = 'shop.customer.com'
const ALERT = 21 // RFC 5246 §6.2.1; of TLS 1.3 it could not be told from data
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n'

/** An application by https behind a relay that keeps what the edge sends, and when the edge has ended the connection. */
async function startRelayed(answer: string, restsMs = Number.POSITIVE_INFINITY) {
  const ca = await createTestCa()
  const { chainPem: cert, keyPem: key } = await ca.issue(['localhost'])
  const application = createServer({ cert, key, maxVersion: 'TLSv1.2' }, (socket) => {
    socket.on('error', () => {}).on('data', () => socket.write(answer))
    if (restsMs !== Number.POSITIVE_INFINITY) socket.setTimeout(restsMs, () => socket.end())
  })
  await once(application.listen(0, '127.0.0.1'), 'listening')
  const ended = Promise.withResolvers<Buffer>()
  const relay = createTcpServer({ allowHalfOpen: true }, (socket) => {
    const said: Buffer[] = []
    const further = connect((application.address() as AddressInfo).port, '127.0.0.1')
    further.on('error', () => {}).pipe(socket)
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      said.push(bytes)
      if (further.writable) further.write(bytes)
    })
    socket.on('end', () => {
      ended.resolve(Buffer.concat(said))
      socket.destroy()
    })
  })
  await once(relay.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    application.close()
    relay.close()
  })
  return { ca, url: `https://localhost:${(relay.address() as AddressInfo).port}`, ended: ended.promise }
}

/** The types of TLS's records (RFC 5246 §6.2.1), in their order. */
function recordTypes(bytes: Buffer): number[] {
  const types: number[] = []
  for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt16BE(at + 3)) types.push(bytes[at]!)
  return types
}

test.each([
  ['after an answer that closes it', 'Connection: close\r\n', 30_000, undefined],
  ['when it has rested for long enough', '', 500, undefined],
  ['when the application has ended it', '', 30_000, 300],
])('an https application is told that a connection ends: %s', async (_when, field, keepAliveMs, restsMs) => {
  const { ca, url, ended } = await startRelayed(`${ANSWER}${field}\r\nok`, restsMs)
  const edge = await startTestEdge({ upstream: { ca: [ca.certPem] }, timeouts: { keepAliveMs } })
  onTestFinished(() => edge.stop(0))
  await edge.route(HOST, url)
  const target = { port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }
  const reader = await speak(target, `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  expect((await reader.answer()).status).toBe(200)
  expect(recordTypes(await ended).at(-1)).toBe(ALERT)
  await expect.poll(() => edge.report().then(({ upstream }) => upstream.connections)).toBe(0)
  reader.socket.destroy()
})
