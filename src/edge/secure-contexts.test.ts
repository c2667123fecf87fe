import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestCa, type TestCa, type TestCertificate } from '../../test/support/certificates.ts'
import { openTls } from '../../test/support/raw-visitor.ts'
import { parseHostname } from '../hostname.ts'
import { type CertificateText, certificateText } from './certificate-text.ts'
import { createSecureContexts } from './secure-contexts.ts'

const HOST = 'shop.customer.com'
const BOUND = 20
const PASSING = 4 // beside the bound

let ca: TestCa
let issued: TestCertificate
let certificate: CertificateText
let context: SecureContext
const door = createServer((socket) => void new TLSSocket(socket, { isServer: true, secureContext: context }).on('error', () => {}))

beforeAll(async () => {
  ca = await createTestCa()
  issued = await ca.issue([HOST, '*.customer.net'])
  certificate = certificateText(issued)
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
})
afterAll(() => void door.close())

const ONE_BYTES = 27_000 // a context with one certificate, as it is counted
const create = (max = BOUND) => createSecureContexts(() => max * ONE_BYTES, PASSING)
const handshakeWith = (shown: SecureContext, hostname = HOST) => {
  context = shown
  return openTls({ port: (door.address() as AddressInfo).port, hostname, ca: ca.certPem })
}
const subjectsSent = (socket: TLSSocket) => {
  const subjects: string[] = []
  for (let sent = socket.getPeerX509Certificate(); sent; sent = sent.issuerCertificate) subjects.push(sent.subject.replace('CN=', ''))
  return subjects
}

test('ten times as many names as the bound: memory holds the bound and a few more, what left is freed, and handshakes again when it is asked for', async () => {
  const contexts = create()
  const names = Array.from({ length: 10 * BOUND }, (_, i) => `shop-${i}:1`)
  const all = names.map((id) => contexts.certify({ id, ...certificate }))
  expect(contexts.counts()).toEqual({ kept: BOUND + PASSING, made: 10 * BOUND })
  expect(all.filter((one) => one.context !== undefined)).toHaveLength(BOUND + PASSING)

  const left = all.findIndex((one) => one.context === undefined)
  const again = contexts.certify({ id: names[left]!, ...certificate })
  expect(contexts.counts()).toEqual({ kept: BOUND + PASSING, made: 10 * BOUND + 1 })
  const socket = await handshakeWith(again.context!)
  expect(socket.getPeerCertificate().subject.CN).toBe(HOST)
  socket.destroy()
})

test('a context holds no copies of what it shows, neither as it was made nor with another certificate', async () => {
  const contexts = createSecureContexts(() => 0, 1)
  for (const [made, name] of ['first.example', 'second.example', 'third.example'].entries()) {
    const { chainPem, keyPem } = await ca.issue([name])
    const shown = contexts.certify({ id: name, ...certificateText({ chainPem: chainPem + ca.certPem, keyPem }) }).context!
    const { context: native } = shown as unknown as { context: Record<'getCertificate' | 'getIssuer', () => unknown> }
    expect([native.getCertificate(), native.getIssuer(), contexts.counts().made]).toEqual([null, null, made + 1])
    const socket = await handshakeWith(shown, name)
    expect(subjectsSent(socket)).toEqual([name, 'Test CA'])
    socket.destroy()
  }
})

test('what a connection shows is freed only after it, and not while one of several is left', async () => {
  const contexts = createSecureContexts(() => 0, 1)
  const first = contexts.certify({ id: 'shop:1', ...certificate })
  first.hold()
  first.hold()
  contexts.certify({ id: 'other:1', ...certificate })
  first.release()
  const socket = await handshakeWith(first.context!) // a handshake that was under way
  first.release()
  expect(first.context).toBeUndefined()
  expect(socket.destroyed).toBe(false)
  socket.destroy()
})

test('a context that is used again shows the new certificate with its own issuers, and connections of the former one go on', async () => {
  const contexts = createSecureContexts(() => 0, 1)
  const issue = async (name: string, issuers = '') => {
    const { chainPem, keyPem } = await ca.issue([name])
    return {
      name,
      sent: [name, ...(issuers && ['Test CA'])],
      certified: () => contexts.certify({ id: name, ...certificateText({ chainPem: chainPem + issuers, keyPem }) }),
    }
  }
  const row = [
    await issue('a.customer.com', ca.certPem),
    await issue('b.customer.com', ca.certPem),
    await issue('c.customer.com'),
    await issue('d.customer.com', ca.certPem),
    await issue('e.customer.com'),
    await issue('f.customer.com'),
  ]
  const used: SecureContext[] = []
  const sockets: TLSSocket[] = []
  for (const { name, sent, certified } of row) {
    const shown = certified().context!
    const socket = await handshakeWith(shown, name)
    expect(subjectsSent(socket)).toEqual(sent)
    used.push(shown)
    sockets.push(socket)
  }
  expect(new Set(used).size).toBeLessThan(row.length)
  for (const socket of sockets) {
    expect(socket.destroyed).toBe(false)
    socket.destroy()
  }
})

test('a context of a key of another kind is not used again', async () => {
  const contexts = createSecureContexts(() => 0, 1)
  const rsa = certificateText(await ca.issue([HOST], 'RSA'))
  const used = new Set<SecureContext>()
  for (const [i, one] of [certificate, certificate, rsa, rsa, certificate, rsa].entries()) {
    const { context: shown } = contexts.certify({ id: `${i}:1`, ...one })
    if (one === rsa) expect(used).not.toContain(shown)
    used.add(shown!)
    const socket = await handshakeWith(shown!)
    expect(`${socket.getPeerX509Certificate()}`).toBe(one.leafPem.trimStart())
    socket.destroy()
  }
})

test('a key that does not fit its certificate is refused, and spoils nothing', async () => {
  const contexts = createSecureContexts(() => 0, 1)
  const other = certificateText(await ca.issue(['other.customer.com']))
  for (let i = 0; i < 3; i += 1) contexts.certify({ id: `${i}:1`, ...certificate })
  expect(() => contexts.certify({ id: 'wrong:1', ...other, keyPem: certificate.keyPem })).toThrow(/key values mismatch/)
  const socket = await handshakeWith(contexts.certify({ id: 'right:1', ...certificate }).context!)
  expect(subjectsSent(socket)).toEqual([HOST])
  socket.destroy()
})

test('the names that are visited stay, whatever number of others comes once', () => {
  const contexts = create()
  const visited = contexts.certify({ id: 'visited:1', ...certificate })
  for (let i = 0; i < 10 * BOUND; i += 1) {
    contexts.certify({ id: `once-${i}:1`, ...certificate })
    expect(contexts.certify({ id: 'visited:1', ...certificate })).toBe(visited)
  }
})

test('a new certificate of the same name is another one', () => {
  const contexts = create()
  const old = contexts.certify({ id: 'shop:1', ...certificate })
  expect(contexts.certify({ id: 'shop:2', ...certificate })).not.toBe(old)
})

test('an id that comes a second time with another certificate shows that one', async () => {
  const contexts = create()
  const old = contexts.certify({ id: 'shop:1', ...certificate })
  const other = certificateText(await ca.issue([HOST]))
  const socket = await handshakeWith(contexts.certify({ id: 'shop:1', ...other }).context!)
  expect(`${socket.getPeerX509Certificate()}`).toBe(other.leafPem.trimStart())
  expect(old.context).toBeUndefined()
  socket.destroy()
})

test('a longer chain counts for more, and what the room has become smaller by leaves before long', () => {
  let bytes = 10 * ONE_BYTES
  const contexts = createSecureContexts(() => bytes, PASSING)
  const certify = (id: number, text = certificate) => contexts.certify({ id: `${id}:1`, ...text })
  const chainPem = [issued.chainPem, ca.certPem, ca.certPem].join('\n')
  for (let id = 0; id < 20; id += 1) certify(id, certificateText({ ...issued, chainPem }))
  expect(contexts.counts().kept).toBe(7 + PASSING)
  bytes = 3 * ONE_BYTES
  for (let id = 20; id < 30; id += 1) certify(id)
  expect(contexts.counts().kept).toBe(2 + PASSING)
})

test('who comes again and again has room before long, and keeps it while others come once', () => {
  const contexts = create()
  const once = (from: number) => {
    for (let i = from; i < from + BOUND; i += 1) contexts.certify({ id: `once-${i}:1`, ...certificate })
  }
  const again = () => contexts.certify({ id: 'again:1', ...certificate })
  once(0)
  let made = 0
  for (let i = 1; i <= 20; i += 1) {
    const before = contexts.counts().made
    again()
    made += contexts.counts().made - before
    once(i * BOUND)
  }
  expect(made).toBeLessThan(16)
  const kept = again()
  once(1_000)
  expect(again()).toBe(kept)
})

test.each([
  [HOST, true],
  ['www.customer.net', true],
  ['a.www.customer.net', false],
  ['customer.net', false],
  ['other.customer.com', false],
])('whether a certificate for shop.customer.com and *.customer.net is for %s: %s', (name, expected) => {
  expect(
    create()
      .certify({ id: '1', ...certificate })
      .isFor(parseHostname(name)),
  ).toBe(expected)
})
