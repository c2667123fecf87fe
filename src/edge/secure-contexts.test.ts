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
type Contexts = ReturnType<typeof create>
const visit = (contexts: Contexts, name: string | number) => contexts.certify({ id: `${name}:1`, ...certificate })
/** As many others come once as it takes until nobody who came once is still ready. */
const othersPass = (contexts: Contexts) => {
  for (let i = 0; i < PASSING; i += 1) visit(contexts, `other-${Math.random()}`)
}
const visitTwice = (contexts: Contexts, name: string | number, text = certificate) => {
  const twice = () => contexts.certify({ id: `${name}:1`, ...text })
  twice()
  othersPass(contexts)
  return twice()
}
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
  const names = Array.from({ length: 10 * BOUND }, (_, i) => i)
  const all = new Set([...names, ...names].map((name) => visit(contexts, name)))
  const made = 20 * BOUND
  expect([contexts.counts(), all.size]).toEqual([{ kept: BOUND + PASSING, made }, made])
  expect([...all].filter((one) => one.context !== undefined)).toHaveLength(BOUND + PASSING)

  const again = visit(contexts, names[BOUND]!)
  expect(contexts.counts()).toEqual({ kept: BOUND + PASSING, made: made + 1 })
  const socket = await handshakeWith(again.context!)
  expect(socket.getPeerCertificate().subject.CN).toBe(HOST)
  socket.destroy()
})

test('a context that stays holds no copies of what it shows, neither as it was made nor with another certificate', async () => {
  const contexts = createSecureContexts(() => 10 * ONE_BYTES, 1)
  const shownBefore = new Set<SecureContext>()
  const isUsedAgain: boolean[] = []
  for (const name of ['first.example', 'second.example', 'third.example']) {
    const { chainPem, keyPem } = await ca.issue([name])
    const text = certificateText({ chainPem: chainPem + ca.certPem, keyPem })
    const once = (id: string) => contexts.certify({ id, ...text }).context!
    const others = [once(name), once(`beside ${name}`), once(`beside it ${name}`)]
    const shown = once(name)
    isUsedAgain.push([...shownBefore, ...others].includes(shown))
    for (const one of others) shownBefore.add(one)
    const { context: native } = shown as unknown as { context: Record<'getCertificate' | 'getIssuer', () => unknown> }
    expect([native.getCertificate(), native.getIssuer()]).toEqual([null, null])
    const socket = await handshakeWith(shown, name)
    expect(subjectsSent(socket)).toEqual([name, 'Test CA'])
    socket.destroy()
  }
  expect(isUsedAgain).toContain(true)
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

test('a name that comes a second time stays, whatever number of others comes once', () => {
  const contexts = create()
  const first = visit(contexts, 'visited')
  othersPass(contexts)
  const second = visit(contexts, 'visited')
  expect(second).not.toBe(first)
  for (let i = 0; i < 10 * BOUND; i += 1) othersPass(contexts)
  expect(visit(contexts, 'visited')).toBe(second)
})

test('a name that does not come again before thousands of others comes as if for the first time', () => {
  const contexts = create()
  visit(contexts, 'seldom')
  for (let i = 0; i < 17_000; i += 1) visit(contexts, i)
  const seldom = visit(contexts, 'seldom')
  othersPass(contexts)
  expect(seldom.context).toBeUndefined()
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

test('a longer chain counts for more, and what the room has become smaller by leaves before long, though nobody comes again', () => {
  let bytes = 10 * ONE_BYTES
  const contexts = createSecureContexts(() => bytes, PASSING)
  const chainPem = [issued.chainPem, ca.certPem, ca.certPem].join('\n')
  for (let name = 0; name < 20; name += 1) visitTwice(contexts, name, certificateText({ ...issued, chainPem }))
  expect(contexts.counts().kept).toBe(7 + PASSING)
  bytes = 3 * ONE_BYTES
  othersPass(contexts)
  expect(contexts.counts().kept).toBe(2 + PASSING)
})

test('a certificate with thousands of names counts for what TLS unfolds of it, and is not kept when it has left', async () => {
  const names = Array.from({ length: 2_000 }, (_, i) => `${i}.test`)
  const fat = certificateText(await ca.issue([HOST, ...names]))
  const contexts = create()
  const beyond = fat.leafPem.length - 3_000
  const first = visit(contexts, 'first')
  const certified = Array.from({ length: 10 }, (_, name) => visitTwice(contexts, name, fat))
  expect([first.bytes, certified[0]!.bytes]).toEqual([ONE_BYTES, ONE_BYTES + beyond * 32])
  expect(certified.filter((one) => one.context !== undefined).length).toBe(1) // of 20 ordinary ones there would be room for all
  const socket = await handshakeWith(visit(contexts, 'ordinary').context!)
  expect(`${socket.getPeerX509Certificate()}`).toBe(certificate.leafPem.trimStart())
  socket.destroy()
})

test('where there is no room, a name that comes as seldom as the others takes none, and one that comes more often does', () => {
  const contexts = create()
  const staying = Array.from({ length: BOUND }, (_, name) => visitTwice(contexts, name))
  const comeInTurn = (names: number) => {
    for (let turn = 0; turn < 3; turn += 1) for (let name = 0; name < names; name += 1) visit(contexts, name)
  }
  comeInTurn(2 * BOUND) // twice as many as there is room for
  expect(staying.map((_, name) => visit(contexts, name))).toEqual(staying)

  comeInTurn(BOUND - 1) // one stays away
  const often = visitTwice(contexts, 'often')
  othersPass(contexts)
  expect(visit(contexts, 'often')).toBe(often)
  expect(staying.filter(({ context: shown }) => shown === undefined)).toEqual([staying.at(-1)])
})

test('who came twice leaves when as many others came twice since', () => {
  const contexts = create()
  const former = visitTwice(contexts, 'former')
  for (let name = 0; name < BOUND - 1; name += 1) visitTwice(contexts, name)
  expect(former.context).toBeDefined()
  visitTwice(contexts, 'one more')
  expect(former.context).toBeUndefined()
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
