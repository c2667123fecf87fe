import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import dnsPacket, { type DecodedPacket, type Packet } from 'dns-packet'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { freePort } from '../../test/support/ports.ts'
import type { Outcome } from './responder.ts'
import { startDnsServer } from './server.ts'

const ZONE = 'acme.example.com'
const LABEL = 'a'.repeat(40)
const OTHER_LABEL = 'b'.repeat(40)
const TEXTS = new Map<string, string[]>()

let port: number
let stop: () => Promise<void>
let storeIsDown = false
let counted: Outcome[] = []

beforeAll(async () => {
  port = await freePort()
  const udp = createSocket('udp4').bind(port, '127.0.0.1')
  await once(udp, 'listening')
  const zone = {
    name: ZONE,
    addresses: ['203.0.113.10', '2001:db8::10'],
    mayHold: (label: string) => /^[0-9a-f]{40}$/.test(label),
    async findTexts(label: string) {
      if (storeIsDown) throw new Error('the store is down')
      return TEXTS.get(label) ?? []
    },
  }
  const server = await startDnsServer({ zone, udp, tcp: { host: '127.0.0.1', port }, count: (outcome) => counted.push(outcome) })
  stop = server.stop
})
afterAll(() => stop())
beforeEach(() => {
  TEXTS.clear()
  storeIsDown = false
  counted = []
})

async function dig(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('dig', ['@127.0.0.1', '-p', String(port), '+norecurse', '+time=20', '+tries=1', ...args])
  return stdout
}

/** Sends one datagram and resolves with what comes back; undefined when nothing does before a question that is always answered. */
async function exchange(packet: Buffer): Promise<DecodedPacket | undefined> {
  const socket = createSocket('udp4')
  const replies: Buffer[] = []
  const settled = Promise.withResolvers<void>()
  const mark = encode({ id: 65_535, questions: [{ type: 'SOA', name: ZONE }] })
  socket.on('message', (bytes) => {
    if (bytes.readUInt16BE(0) === 65_535) settled.resolve()
    else replies.push(bytes)
  })
  socket.send(packet, port, '127.0.0.1')
  socket.send(mark, port, '127.0.0.1')
  await settled.promise
  socket.close()
  return replies[0] && dnsPacket.decode(replies[0])
}

function encode(packet: Packet): Buffer {
  return dnsPacket.encode({ type: 'query', ...packet })
}

function asking(name: string, type: string, more: Packet = {}): Buffer {
  return encode({ id: 7, questions: [{ name, type: type as 'TXT' }], ...more })
}

test('dig finds both texts of a label when an exact name and its wildcard are validated at once', async () => {
  TEXTS.set(LABEL, ['first-text', 'second-text'])
  const output = await dig('TXT', `${LABEL}.${ZONE}`)
  expect(output).toMatch(/status: NOERROR/)
  expect(output).toMatch(/flags: qr aa;/)
  expect(output).toMatch(/ 5 IN\s+TXT\s+"first-text"/)
  expect(output).toContain(`"second-text"`)
})

test('dig finds the same over TCP', async () => {
  TEXTS.set(LABEL, ['over-tcp'])
  expect(await dig('+tcp', '+short', 'TXT', `${LABEL}.${ZONE}`)).toBe('"over-tcp"\n')
})

test('the apex names its own server, with the addresses beside it', async () => {
  expect(await dig('+short', 'SOA', ZONE)).toBe(`ns1.${ZONE}. hostmaster.${ZONE}. 1 86400 7200 604800 5\n`)
  const output = await dig('NS', ZONE)
  expect(output).toMatch(new RegExp(`IN\\tNS\\tns1.${ZONE}.`))
  expect(output).toContain('IN\tA\t203.0.113.10')
  expect(output).toContain('IN\tAAAA\t2001:db8::10')
  expect(await dig('+short', 'A', `ns1.${ZONE}`)).toBe('203.0.113.10\n')
})

const answers = [
  ['a label that waits for no text', 'TXT', `${OTHER_LABEL}.${ZONE}`, 'NOERROR', true],
  ['another type of a label', 'A', `${LABEL}.${ZONE}`, 'NOERROR', true],
  ['another type of the apex', 'MX', ZONE, 'NOERROR', true],
  ['another type of the name server', 'TXT', `ns1.${ZONE}`, 'NOERROR', true],
  ['a name that is no label of ours', 'TXT', `www.${ZONE}`, 'NXDOMAIN', true],
  ['a name below a label', 'TXT', `x.${LABEL}.${ZONE}`, 'NXDOMAIN', true],
  ['a name outside the zone', 'TXT', 'example.com', 'REFUSED', false],
  ['a name that only ends alike', 'TXT', `x${ZONE}`, 'REFUSED', false],
  ['a name outside, whose first label has a dot and ends alike', 'TXT', `x\\.${ZONE}`, 'REFUSED', false],
  ['a label with a dot', 'TXT', `x\\.y.${ZONE}`, 'NXDOMAIN', true],
  ['a label that ends with a backslash', 'TXT', `x\\\\.${ZONE}`, 'NXDOMAIN', true],
  ['the root', 'NS', '.', 'REFUSED', false],
] as const

test.each(answers)('%s: %s %s is %s', async (_, type, name, status, withSoa) => {
  const output = await dig(type, name)
  expect(output).toContain(`status: ${status}`)
  expect(/IN\tSOA/.test(output)).toBe(withSoa)
  expect(/flags: qr aa;/.test(output)).toBe(withSoa)
})

test('transfers, other classes and other opcodes are refused', async () => {
  expect(await dig('+noall', '+answer', 'AXFR', ZONE)).toContain('Transfer failed')
  expect(await dig('CH', 'TXT', ZONE)).toContain('status: REFUSED')
  expect(await dig('+opcode=UPDATE', 'SOA', ZONE)).toContain('status: NOTIMP')
  expect(await dig('+opcode=NOTIFY', 'SOA', ZONE)).toContain('status: NOTIMP')
})

test('ANY is answered with as little as can be (RFC 8482), and a later version of EDNS with BADVERS', async () => {
  expect(await dig('+short', 'ANY', ZONE)).toBe('"RFC8482" ""\n')
  expect(await dig('+edns=1', '+noednsneg', 'SOA', ZONE)).toContain('status: BADVERS')
})

test('the question comes back in the letters in which it was asked', async () => {
  TEXTS.set(LABEL, ['found'])
  const mixed = `${'aA'.repeat(20)}.aCmE.ExAmPlE.cOm`
  const reply = await exchange(asking(mixed, 'TXT'))
  expect(reply!.questions![0]!.name).toBe(mixed)
  expect(reply!.answers).toHaveLength(1)
})

test('what does not fit into a datagram is asked for again over TCP', async () => {
  TEXTS.set(
    LABEL,
    Array.from({ length: 20 }, (_, i) => `${i}`.padEnd(60, 'x')),
  )
  const small = await exchange(asking(`${LABEL}.${ZONE}`, 'TXT'))
  expect([small!.flag_tc, small!.answers]).toEqual([true, []])
  expect((await dig('+short', 'TXT', `${LABEL}.${ZONE}`)).trim().split('\n')).toHaveLength(20)
})

test('the store being down is SERVFAIL for texts, and nothing else fails', async () => {
  storeIsDown = true
  expect(await dig('TXT', `${LABEL}.${ZONE}`)).toContain('status: SERVFAIL')
  for (const type of ['SOA', 'NS']) expect(await dig(type, ZONE)).toContain('status: NOERROR')
  expect(await dig('A', `${LABEL}.${ZONE}`)).toContain('status: NOERROR')
})

test('a question is malformed unless there is exactly one', async () => {
  const none = encode({ id: 7, questions: [] })
  const two = encode({ id: 7, questions: [1, 2].map(() => ({ name: ZONE, type: 'SOA' as const })) })
  const full = asking(ZONE, 'SOA', {
    additionals: Array.from({ length: 5 }, () => ({ type: 'A', name: 'a.b', data: '127.0.0.1' }) as never),
  })
  for (const packet of [none, two, full]) expect((await exchange(packet))!.flags! & 15).toBe(1)
})

test('a response is never answered, so that two servers cannot keep each other busy', async () => {
  expect(await exchange(dnsPacket.encode({ type: 'response', id: 7, questions: [{ name: ZONE, type: 'SOA' }] }))).toBeUndefined()
  expect(counted).toContain('dropped')
})

test('whatever arrives, what is answered is a response to its id without data, and the server goes on', async () => {
  const garbage = fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes))
  const broken = fc.tuple(fc.nat(200), fc.nat(255), fc.nat(200)).map(([at, byte, cut]) => {
    const packet = asking(`${LABEL}.${ZONE}`, 'TXT', { additionals: [{ type: 'OPT', name: '.', udpPayloadSize: 1232 } as never] })
    if (at < packet.length) packet[at] = byte
    return packet.subarray(0, packet.length - (cut > 150 ? cut - 150 : 0))
  })
  await fc.assert(
    fc.asyncProperty(fc.oneof(garbage, broken), async (packet) => {
      fc.pre(packet.length < 2 || packet.readUInt16BE(0) !== 65_535)
      const reply = await exchange(packet)
      if (!reply) return
      const data = reply.answers!.filter(({ type }) => type !== 'HINFO') // of ANY that is said, if a broken byte asks for it (RFC 8482 §4.2)
      expect([reply.id, reply.type, data]).toEqual([packet.readUInt16BE(0), 'response', []])
    }),
    { numRuns: 200 },
  )
  expect(await dig('SOA', ZONE)).toContain('status: NOERROR')
})

test('several questions on one TCP connection are all answered, and garbage ends it', async () => {
  TEXTS.set(LABEL, ['found'])
  const framed = (packet: Buffer) => Buffer.concat([Buffer.from([packet.length >> 8, packet.length & 255]), packet])
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.write(Buffer.concat([framed(asking(`${LABEL}.${ZONE}`, 'TXT')), framed(asking(ZONE, 'SOA')), Buffer.from([255, 255, 0])]))
  await once(socket, 'close')
  const bytes = Buffer.concat(chunks)
  const first = bytes.readUInt16BE(0)
  expect(dnsPacket.decode(bytes.subarray(2, first + 2)).answers).toHaveLength(1)
  expect(dnsPacket.decode(bytes.subarray(first + 4)).answers).toMatchObject([{ type: 'SOA' }])
})

test('a server that stops answers what it was asked before, and leaves to its successor what comes then', async () => {
  const texts = [Promise.withResolvers<string[]>(), Promise.withResolvers<string[]>()]
  let asked = 0
  const udp = createSocket('udp4').bind(0, '127.0.0.1')
  await once(udp, 'listening')
  const zone = { name: ZONE, addresses: [], mayHold: () => true, findTexts: () => texts[asked++]!.promise }
  const stopping = await startDnsServer({ zone, udp, tcp: { host: '127.0.0.1', port: 0 }, count() {} })
  const client = createSocket('udp4')
  const ask = (id: number) =>
    client.send(encode({ id, questions: [{ type: 'TXT', name: `${LABEL}.${ZONE}` }] }), udp.address().port, '127.0.0.1')
  const answered = once(client, 'message')
  ask(1)
  await expect.poll(() => asked).toBe(1)
  const stopped = stopping.stop()
  ask(2)
  texts[0]!.resolve(['first'])
  expect(((await answered)[0] as Buffer).readUInt16BE(0)).toBe(1)
  await stopped
  texts[1]!.resolve(['second'])
  client.close()
})
