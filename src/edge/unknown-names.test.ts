import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EDGE_HOST, startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openTls } from '../../test/support/raw-visitor.ts'
import { startUpstream, type Upstream } from '../../test/support/upstream.ts'
import { knock, recordClientHello, renamed } from '../../test/support/visitor.ts'
import { createAddressSet } from '../lib/addresses.ts'
import { type CertificateSource, createCertificateSource } from './certificate-source.ts'

const HOST = 'shop.customer.com'
const STRANGERS = 2_000
const CALLERS = 50
const HANDSHAKE_FAILURE = Buffer.from([21, 3, 3, 0, 2, 2, 40])

let upstream: Upstream
let edge: TestEdge
let source: CertificateSource
/** What was read of certificates, and with it of keys. */
const reads: string[] = []
const orders: string[] = []

beforeAll(async () => {
  upstream = await startUpstream()
  source = createCertificateSource({
    read(hostname) {
      reads.push(hostname)
      const answer = edge.certificates.get(hostname)
      if (answer === undefined || answer instanceof Promise || answer.kind === 'refused') return {}
      const notAfterMs = Number.POSITIVE_INFINITY
      return { certificate: { notAfterMs, open: () => ({ ...answer, notAfterMs }) } }
    },
    servedBy: (hostname) => (hostname === HOST || hostname === EDGE_HOST ? [hostname] : []),
    async requestIssuance(hostname) {
      orders.push(hostname)
      return { kind: 'refused', reason: 'nothing is issued here' }
    },
    now: Date.now,
    trustedProxies: createAddressSet([]),
  })
  edge = await startTestEdge({
    certificateFor: (hostname, { address }) => source.certificateFor(hostname, { address, onceGone: () => {} }),
  })
  await edge.route(HOST, upstream.url)
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})

const handshake = async () => {
  const socket = await openTls({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })
  const closed = once(socket, 'close')
  socket.destroy()
  await closed
}

test('of a name that nobody registered no certificate is read, no key opened and no TLS begun, and a flood of them forgets nothing that is known', async () => {
  await handshake()
  const before = { reads: reads.length, tls: (await edge.report()).tls }
  expect(before).toEqual({ reads: 1, tls: { kept: 1, made: 1 } })

  const hello = await recordClientHello('0000.stranger.example')
  const answers = new Map<string, number>()
  const labels = Array.from({ length: STRANGERS }, (_, i) => String(1_000 + i))
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      for (let label = labels.pop(); label !== undefined; label = labels.pop()) {
        const answer = (await knock(edge.httpsPort, renamed(hello, '0000', label))).toString('hex')
        answers.set(answer, (answers.get(answer) ?? 0) + 1)
      }
    }),
  )
  expect(Object.fromEntries(answers)).toEqual({ [HANDSHAKE_FAILURE.toString('hex')]: STRANGERS })

  await handshake()
  expect({ reads: reads.length, tls: (await edge.report()).tls }).toEqual(before)
  expect([orders, source.waiting()]).toEqual([[], 0])
})
