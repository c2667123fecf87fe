import dnsPacket, { type Packet } from 'dns-packet'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { answersQuestion, decodeMessage, encodeQuery, isAskable, type Question } from './dns-message.ts'

const label = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/)
const name = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join('.'))

test('a query reads back, with another implementation, as what was asked', () => {
  fc.assert(
    fc.property(name, fc.constantFrom('A' as const, 'AAAA' as const, 'CAA' as const, 'TXT' as const), fc.nat(65_535), (asked, type, id) => {
      const query = dnsPacket.decode(encodeQuery(id, { name: asked, type, recurse: true, unchecked: false }))
      expect([query.id, query.flag_rd, query.flag_cd]).toEqual([id, true, false])
      expect(query.questions).toEqual([{ name: asked, type, class: 'IN' }])
      expect(query.additionals![0]!.type).toBe('OPT')
    }),
  )
})

test('an answer of another implementation reads with names in their own case', () => {
  fc.assert(
    fc.property(name, name, fc.ipV4(), fc.string({ maxLength: 200 }), (owner, target, address, text) => {
      const packet: Packet = {
        type: 'response',
        id: 7,
        questions: [{ name: owner, type: 'A' }],
        answers: [
          { name: owner, type: 'CNAME', ttl: 30, data: target },
          { name: target, type: 'A', ttl: 30, data: address },
          { name: owner, type: 'TXT', ttl: 30, data: [text] },
        ],
      }
      const message = decodeMessage(dnsPacket.encode(packet))
      const [alias, found, written] = message.answers
      expect([alias!.name, alias!.value, found!.value, written!.value]).toEqual([
        owner,
        target,
        address,
        Buffer.from(text).toString('utf8'),
      ])
    }),
  )
})

test('every kind of record that a probe reads is read', () => {
  const bytes = dnsPacket.encode({
    type: 'response',
    id: 1,
    questions: [{ name: 'c.example', type: 'A' }],
    answers: [
      { name: 'c.example', type: 'AAAA', ttl: 1, data: '2001:DB8:0:0:0:0:0:1' },
      { name: 'c.example', type: 'CAA', ttl: 1, data: { flags: 128, tag: 'issue', value: 'ca.example' } },
      { name: 'c.example', type: 'NS', ttl: 1, data: 'ns.c.example' },
      { name: 'c.example', type: 'TXT', ttl: 1, data: ['one ', 'two'] },
      { name: 'c.example', type: 'MX', ttl: 1, data: { preference: 1, exchange: 'mx.c.example' } },
      { name: 'c.example', type: 'PTR', ttl: 1, data: 'other.c.example' },
    ],
  })
  expect(decodeMessage(bytes).answers).toEqual([
    { name: 'c.example', type: 'AAAA', ttl: 1, value: '2001:db8::1' },
    { name: 'c.example', type: 'CAA', ttl: 1, value: 'ca.example', caa: { critical: true, tag: 'issue' } },
    { name: 'c.example', type: 'NS', ttl: 1, value: 'ns.c.example' },
    { name: 'c.example', type: 'TXT', ttl: 1, value: 'one two' },
    { name: 'c.example', type: 'MX', ttl: 1, value: 'mx.c.example' },
  ])
})

const asked = { name: 'edge.example', type: 'A', recurse: true, unchecked: false } as const

test('a dot inside a label never reads as the end of the label', () => {
  const header = Buffer.from('000180000001000000000000', 'hex')
  const question = Buffer.concat([Buffer.from([12]), Buffer.from('edge.example'), Buffer.from([0, 0, 1, 0, 1])])
  const bytes = Buffer.concat([header, question])
  expect(decodeMessage(bytes).question!.name).toBe('edge\\.example')
  expect(answersQuestion(bytes, asked)).toBe(false)
})

test('compressed names are read, and pointers that lead in a circle are refused', () => {
  const header = Buffer.from('000180000001000000000000', 'hex')
  expect(() => decodeMessage(Buffer.concat([header, Buffer.from('c00c00010001', 'hex')]))).toThrow(RangeError)
  const answered = Buffer.from('00018000000100010000000001630000010001c00c000100010000000000047f000001', 'hex')
  expect(decodeMessage(answered).answers).toMatchObject([{ name: 'c', value: '127.0.0.1' }])
})

test('two questions, and more records than anybody sends, are refused', () => {
  expect(() => decodeMessage(Buffer.from('00018000000200000000000001630000010001c00c00010001', 'hex'))).toThrow('one question')
  const record = Buffer.from('0000100001000000000000', 'hex')
  const many = (count: number) => {
    const header = Buffer.from('000180000000000000000000', 'hex')
    header.writeUInt16BE(count, 6)
    return Buffer.concat([header, ...Array.from({ length: count }, () => record)])
  }
  expect(decodeMessage(many(1_024)).answers).toHaveLength(1_024)
  expect(() => decodeMessage(many(1_025))).toThrow('too many records')
})

test('a name is made of 16 pieces at most, so that reading a message takes no more than its length', () => {
  // A record whose data are pointers, each to the one before, and one behind it whose name begins at the last of them.
  const withPieces = (count: number) => {
    const pointers = Buffer.alloc(2 * count)
    for (let i = 1; i < count; i += 1) pointers.writeUInt16BE(0xc000 | (23 + 2 * (i - 1)), 2 * i)
    const head = Buffer.from('0001800000000002000000000000630001000000000000', 'hex')
    head.writeUInt16BE(pointers.length, 21)
    pointers[0] = 0
    const last = Buffer.from('c000000100010000000000047f000001', 'hex')
    last.writeUInt16BE(0xc000 | (23 + 2 * (count - 1)))
    return Buffer.concat([head, pointers, last])
  }
  expect(decodeMessage(withPieces(16)).answers.at(-1)).toMatchObject({ name: '', value: '127.0.0.1' })
  expect(() => decodeMessage(withPieces(18))).toThrow('pieces')
})

const empty = (bytes: Buffer) => bytes.fill(0, 4, 12).subarray(0, 12)
test.each<[string, number, Partial<Question>, (bytes: Buffer) => Buffer, boolean]>([
  ['repeats the question in whatever case', 0x8400, { name: 'EDGE.exAMPLE' }, (bytes) => bytes, true],
  ['asks it', 0x0400, {}, (bytes) => bytes, false],
  ['repeats another name', 0x8400, { name: 'edgf.example' }, (bytes) => bytes, false],
  ['repeats another type', 0x8400, { type: 'AAAA' }, (bytes) => bytes, false],
  ['says only that it did not understand', 0x8401, {}, empty, true],
  ['refuses without saying what', 0x8405, {}, empty, false],
  ['ends within the question', 0x8400, {}, (bytes) => bytes.subarray(0, -3), false],
])('only what answers is read: a message that %s', (_, flags, more, change, answers) => {
  const bytes = encodeQuery(1, { ...asked, ...more }, false)
  bytes.writeUInt16BE(flags, 2)
  expect(answersQuestion(change(bytes), asked)).toBe(answers)
})

test('names that a few bytes stand for are written out no further than 32 KB, so that no message holds up the others', () => {
  const withNames = (records: number) => {
    const header = Buffer.from('000184000000000000000000', 'hex')
    header.writeUInt16BE(records, 6)
    const name = Buffer.concat([Buffer.alloc(252, Buffer.from([1, 7])), Buffer.from([0])])
    const record = (owner: Buffer) => Buffer.concat([owner, Buffer.from('000500010000000a0002c00c', 'hex')])
    const pointer = Buffer.from('c00c', 'hex')
    return Buffer.concat([header, record(name), ...Array.from({ length: records - 1 }, () => record(pointer))])
  }
  expect(decodeMessage(withNames(64)).answers.at(-1)!.value).toHaveLength(126 * 5 - 1)
  expect(() => decodeMessage(withNames(65))).toThrow('too many names')
})

test('whatever bytes arrive, reading ends, with a message or a RangeError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 0, maxLength: 120 }), (bytes) => {
      try {
        decodeMessage(Buffer.from(bytes))
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError)
      }
    }),
  )
})

test.each([
  ['', false],
  ['.', false],
  ['a..b', false],
  ['edge\\.example', false],
  ['a.'.repeat(130), false],
  [`${'a'.repeat(64)}.example`, false],
  ['_namesake.shop.example', true],
])('%s can be asked for: %s', (text, askable) => {
  expect(isAskable(text)).toBe(askable)
})
