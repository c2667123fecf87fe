import { connect, type OutgoingHttpHeaders } from 'node:http2'
import { duplexPair } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { milliseconds } from '../../../test/support/costs.ts'
import { heapBytes } from '../../../test/support/heap.ts'
import { FieldSection } from '../field-section.ts'
import { Budget, WITH_VISITOR } from './budget.ts'
import { FrameReceiver } from './frame-receiver.ts'
import { HeaderField, listOf } from './header-field.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { HpackEncoder, putInteger } from './hpack-encoder.ts'
import { CODE_LENGTHS, codesOf, decodeHuffman } from './huffman.ts'
import { VISITOR_RULES } from './limits.ts'
import { NeverIndexedNames } from './never-indexed.ts'
import { ConnectionError } from './protocol.ts'

const LIST_BYTES_MAX = 32 * 1024
const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')
const decodeWith = (decoder: HpackDecoder, block: Buffer) => {
  const head = decoder.decode(block, 0, block.length)
  return { ...head, fields: listOf(head.fields) }
}
const decode = (block: Buffer) => decodeWith(new HpackDecoder(LIST_BYTES_MAX), block)
const FIRST = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com']
const SECOND = [...FIRST, 'cache-control', 'no-cache']
const THIRD = [':method', 'GET', ':scheme', 'https', ':path', '/index.html', ':authority', 'www.example.com', 'custom-key', 'custom-value']
const DATE = 'Mon, 21 Oct 2013 20:13:21 GMT'
const COOKIE = 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'
const answer = (status: string, date = DATE) => [
  [':status', status, 'cache-control', 'private', 'date', date, 'location', 'https://www.example.com'],
]
const LAST = [':status', '200', 'cache-control', 'private', 'date', DATE.replace(':21 ', ':22 '), 'location', 'https://www.example.com']
const ANSWERS = [...answer('302'), ...answer('307'), [...LAST, 'content-encoding', 'gzip', 'set-cookie', COOKIE]]

describe('the examples of RFC 7541, appendix C', () => {
  test.each([
    [10, 0x1f, '0a'],
    [1337, 0x1f, '1f9a0a'],
    [42, 0xff, '2a'],
  ])('C.1: the integer %i', (value, mask, bytes) => {
    const into = Buffer.alloc(8)
    expect(into.subarray(0, putInteger(into, 0, 0, mask, value)).toString('hex')).toBe(bytes)
  })

  test.each([
    ['400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', ['custom-key', 'custom-header']],
    ['040c 2f73 616d 706c 652f 7061 7468', [':path', '/sample/path']],
    ['1008 7061 7373 776f 7264 0673 6563 7265 74', ['password', 'secret']],
    ['82', [':method', 'GET']],
  ])('C.2: %s', (block, fields) => {
    expect(decode(hex(block)).fields).toEqual(fields)
  })

  test.each([
    [
      'C.3',
      [
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ],
      [FIRST, SECOND, THIRD],
    ],
    [
      'C.4, Huffman',
      [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
      [FIRST, SECOND, THIRD],
    ],
    [
      'C.5, with a table of 256 bytes',
      [
        `3fe101 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768
         7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
        '4803 3330 37c1 c0bf',
        `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48
         514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31`,
      ],
      ANSWERS,
    ],
    [
      'C.6, with a table of 256 bytes, Huffman',
      [
        `3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae
         82ae 43d3`,
        '4883 640e ffc1 c0bf',
        `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af
         2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
      ],
      ANSWERS,
    ],
  ])('%s', (_name, blocks, heads) => {
    const decoder = new HpackDecoder(LIST_BYTES_MAX)
    expect(blocks.map((block) => decodeWith(decoder, hex(block)).fields)).toEqual(heads)
  })
})

const codes = codesOf(CODE_LENGTHS)
function huffmanOf(bytes: Uint8Array): Buffer {
  const bits = [...bytes].map((byte) => codes[byte]!.toString(2).padStart(CODE_LENGTHS[byte]!, '0')).join('')
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1')
  return Buffer.from(padded.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? [])
}

test('every byte survives the Huffman code, and a string that ends otherwise than with a few ones is none', () => {
  const into = Buffer.alloc(4_000)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
      const encoded = huffmanOf(bytes)
      expect(into.subarray(0, decodeHuffman(encoded, 0, encoded.length, into))).toEqual(Buffer.from(bytes))
    }),
  )
  for (const wrong of ['ff', 'ffffffff', '00', '1800', 'fffffffc']) expect(decodeHuffman(hex(wrong), 0, hex(wrong).length, into)).toBe(-1)
})

const name = fc.stringMatching(/^[a-z0-9!#$%&'*+.^_`|~-]{1,40}$/)
const value = fc.stringMatching(/^([!-~\u0080-\u00ff]([ -~\u0080-\u00ff]{0,60}[!-~])?)?$/)
const aFewFields = fc.array(fc.tuple(fc.oneof(name, fc.constantFrom('content-type', 'Set-Cookie', 'Date', 'x-long')), value), {
  maxLength: 20,
})

test('what our encoder says, our decoder hears, names in lower case', () => {
  const encoder = new HpackEncoder()
  fc.assert(
    fc.property(aFewFields, fc.integer({ min: 100, max: 599 }), fc.nat({ max: 20_000 }), (pairs, status, length) => {
      const fields = [...pairs.flat(), 'x-long', 'l'.repeat(length)]
      const block = Buffer.alloc(encoder.roomFor(fields))
      const end = encoder.putFields(block, encoder.putStatus(block, 0, status), fields)
      const { fields: heard, isProper, isTooLarge } = decode(block.subarray(0, end))
      const said = [':status', String(status), ...fields.map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text))]
      expect({ heard, isProper, isTooLarge }).toEqual({ heard: said, isProper: true, isTooLarge: false })
    }),
  )
})

test('what node’s own encoder says with its table, request after request, our decoder hears', async () => {
  const [far, near] = duplexPair()
  const client = connect('http://shop.customer.com', { createConnection: () => far })
  client.on('error', () => {})
  const heads: string[][] = []
  const ignore = () => {}
  const listener = {
    onHead: (_id: number, _ends: boolean, head: { fields: readonly HeaderField[] }) => void heads.push([...listOf(head.fields)]),
    onData: ignore,
    onReset: () => false,
    onSettings: ignore,
    onPing: ignore,
    onGoaway: ignore,
    onWindowUpdate: ignore,
  }
  const rules = { ...VISITOR_RULES, takePingDue: () => false }
  const receiver = new FrameReceiver(listener, new Budget(WITH_VISITOR), rules)
  near.on('data', (chunk) => receiver.feed(chunk))
  const said = fc.sample(fc.array(fc.tuple(name, value), { maxLength: 20 }), 100).map((pairs) => {
    const unique = new Map(pairs.map(([key, text]) => [`x-${key}`, text]))
    return Object.fromEntries(unique) as OutgoingHttpHeaders
  })
  for (const headers of said) client.request(headers).on('error', ignore)
  await expect.poll(() => heads.length).toBe(said.length)
  heads.forEach((heard, i) => {
    const pairs = Array.from({ length: heard.length / 2 }, (_, k) => [heard[2 * k]!, heard[2 * k + 1]!] as const)
    expect(Object.fromEntries(pairs.filter(([key]) => !key.startsWith(':')))).toEqual({ ...said[i] })
  })
  client.destroy()
})

test('what came so that nobody puts it into a table goes on as such, also where it was said otherwise before (RFC 7541 §6.2.3)', () => {
  const encoder = new HpackEncoder()
  const encoded = (name: string) => encoder.blockOf(FieldSection.ofList([name, 'secret']))[0]
  expect([encoded('X-Pass'), encoded('authorization')]).toEqual([0x00, 0x1f])
  decode(hex('1006 782d 7061 7373 0673 6563 7265 74'))
  expect([encoded('X-Pass'), encoded('other')]).toEqual([0x10, 0x00])
})

test('an answer’s status and length, which are said apart from its fields, go on as never indexed too (RFC 7541 §6.2.3)', () => {
  const encoder = new HpackEncoder()
  const into = Buffer.alloc(32)
  const written = () => into.subarray(0, encoder.putLength(into, encoder.putStatus(into, 0, 200), 5)).toString('hex')
  expect(written()).toBe('88' + '0f0d0135')
  decode(hex('1803 323030 1f0d 0135'))
  expect(written()).toBe('1803323030' + '1f0d0135')
})

test('where there are more names that nobody may put into a table than there is room for, all are such', () => {
  const names = new NeverIndexedNames()
  for (let n = 0; n < 1_100; n += 1) names.add(`name-${n}`)
  expect(names.has('any')).toBe(true)
  const { changes } = names
  names.add('other')
  expect(names.changes).toBe(changes)
})

test('garbage is an error of the connection or a list of fields, never anything else', () => {
  const decoder = new HpackDecoder(LIST_BYTES_MAX)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        const { fields } = decodeWith(decoder, Buffer.from(bytes))
        expect(fields.length % 2).toBe(0)
      } catch (error) {
        expect(error).toBeInstanceOf(ConnectionError)
      }
    }),
    { numRuns: 5_000 },
  )
})

test.each([
  ['index 0', '80'],
  ['an index behind the table', 'be'],
  ['an integer without end', 'ffffffff'],
  ['an integer larger than any of ours', 'ff8080808001'],
  ['a name that ends behind the block', '400a61'],
  ['a missing value', '400161'],
  ['a table larger than allowed', '3fe21f'],
  ['a change of the table behind a field', '8220'],
  ['Huffman with the end of the string inside', '4084ffffffff00'],
])('%s is an error of the connection', (_name, block) => {
  expect(() => decode(hex(block))).toThrow(ConnectionError)
})

test('a list larger than 32 KB ends early, and the table stays that of the peer', () => {
  const decoder = new HpackDecoder(LIST_BYTES_MAX)
  const large = Buffer.concat([hex('4001617f8107'), Buffer.alloc(127 + 0x81 - 128 + 7 * 128, 'v')])
  expect(decodeWith(decoder, large).isTooLarge).toBe(false)
  const bomb = decodeWith(decoder, Buffer.concat([Buffer.alloc(60_000, 0xbe), hex('400162017a')]))
  expect(bomb.isTooLarge).toBe(true)
  expect(bomb.fields.length).toBeLessThan(100)
  expect(decodeWith(decoder, hex('be')).fields).toEqual(['b', 'z'])
})

test.each([
  ['Upper', 'x'],
  ['a b', 'x'],
  ['', 'x'],
  [':path', ' /'],
  [':path', '/ '],
  ['x', 'a\r\nb'],
  ['x', 'a\0'],
])('the field %j: %j is not proper in HTTP/2', (key, text) => {
  const block = Buffer.concat([Buffer.from([0, key.length]), Buffer.from(key), Buffer.from([text.length]), Buffer.from(text)])
  expect(decode(block).isProper).toBe(false)
})

test('blanks around a value go, and count in the table as they were said', () => {
  const decoder = new HpackDecoder(LIST_BYTES_MAX)
  const said = decodeWith(decoder, Buffer.concat([Buffer.from([0x40, 1]), Buffer.from('x'), Buffer.from([8]), Buffer.from(' \t a b \t')]))
  expect(said).toMatchObject({ fields: ['x', 'a b'], isProper: true, bytes: 1 + 8 + 32 })
  expect(decodeWith(decoder, hex('be'))).toMatchObject({ fields: ['x', 'a b'], bytes: 1 + 8 + 32 })
})

test('the same bytes again mean what the table says by then', () => {
  const decoder = new HpackDecoder(LIST_BYTES_MAX)
  const read = (block: string) => decodeWith(decoder, hex(block)).fields
  const newest = 'be'
  read('400161 0131')
  for (let time = 0; time < 3; time += 1) expect(read(newest)).toEqual(['a', '1'])
  read('400162 0132')
  for (let time = 0; time < 3; time += 1) expect(read(newest)).toEqual(['b', '2'])
  expect(read('400163 0133')).toEqual(['c', '3'])
  expect(read('400163 0133')).toEqual(['c', '3']) // once more among the entries
  expect(read('c0')).toEqual(['b', '2'])
  expect(read('c0')).toEqual(['b', '2'])
  expect(read('82')).toEqual([':method', 'GET'])
  expect(read('20')).toEqual([]) // empties the table
  expect(read('82')).toEqual([':method', 'GET'])
  expect(() => read('c0')).toThrow(ConnectionError)
})

test('whatever a client says, and however often it says it again, one decoder for all reads as new ones would', () => {
  const some = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'cookie', 'x'.repeat(40)), fc.constantFrom('', '1', '2', 'v'.repeat(30))), {
    maxLength: 4,
  })
  const block = fc
    .tuple(some, fc.constantFrom(0x40, 0x00), fc.subarray([0x82, 0x84, 0x87, 0xbe, 0xbf, 0xc0]))
    .map(([pairs, kind, indices]) => {
      const literals = pairs.map(([name, value]) =>
        Buffer.concat([Buffer.from([kind, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]),
      )
      return Buffer.concat([...literals, Buffer.from(indices)])
    })
  fc.assert(
    fc.property(fc.array(block, { maxLength: 6 }), fc.array(fc.nat(5), { maxLength: 20 }), (blocks, order) => {
      const sent = order.map((at) => blocks[at]).filter((each) => each !== undefined)
      const decoder = new HpackDecoder(LIST_BYTES_MAX)
      const outcome = (read: () => string[]) => {
        try {
          return read()
        } catch (error) {
          return (error as Error).message
        }
      }
      for (let count = 1; count <= sent.length; count += 1) {
        const fresh = new HpackDecoder(LIST_BYTES_MAX)
        const byOne = outcome(() => [...decodeWith(decoder, sent[count - 1]!).fields])
        const byNew = outcome(
          () =>
            sent
              .slice(0, count)
              .map((each) => [...decodeWith(fresh, Buffer.concat([each, hex('82')])).fields.slice(0, -2)])
              .at(-1)!,
        )
        expect(byOne).toEqual(byNew)
        if (typeof byOne === 'string') return
      }
    }),
    { numRuns: 1_000 },
  )
})

test('an answer\u2019s block is that of its own lines, wherever they lie and however little they differ from others', () => {
  const encoder = new HpackEncoder()
  const lines = [
    'Server: nginx\r\n',
    'Date: Sat, 21 Nov 2026 22:00:00 GMT\r\n',
    'Content-Length: 700\r\n',
    'X-\u00e9: \u00e9\r\n',
    'ETag: "1"\r\n',
  ]
  const inRuns = (before: string, first: string[], cut: string, then: string[]) => {
    const at = [before.length, before.length + first.join('').length, 0, 0]
    at[2] = at[1]! + cut.length
    at[3] = at[2] + then.join('').length
    return FieldSection.ofRuns(Buffer.from(`${before}${first.join('')}${cut}${then.join('')}`, 'latin1'), at)
  }
  const decoded = (section: FieldSection) => {
    const block = encoder.blockOf(section)
    return decode(Buffer.from(block)).fields
  }
  for (let time = 0; time < 3; time += 1) {
    for (const without of [-1, 0, 1, 2, 3, 4]) {
      for (let split = 0; split <= lines.length; split += 1) {
        const all = lines.map((line, i) => (i === without ? line.replace(/.\r\n$/, '#\r\n') : line))
        const section = inRuns('HTTP/1.1 200 OK\r\n', all.slice(0, split), 'Connection: close\r\n', all.slice(split))
        const expected = all.flatMap((line) => line.slice(0, -2).split(': ')).map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text))
        expect(decoded(section)).toEqual(expected)
        expect(decoded(FieldSection.ofLines(all.join('')))).toEqual(expected)
      }
    }
  }
  expect(decoded(FieldSection.EMPTY)).toEqual([])
  expect(decoded(FieldSection.ofRuns(Buffer.alloc(0), []))).toEqual([])
})

test('a long row of blanks within a value costs as much as one of letters, and blanks around it go', () => {
  const cost = (text: string) =>
    milliseconds(() => {
      for (let i = 0; i < 20; i += 1) expect(new HeaderField('x', `a${text}b`).value.length).toBe(text.length + 2)
    })
  const letters = cost('c'.repeat(60_000))
  expect(cost(' '.repeat(60_000))).toBeLessThan(100 * letters + 100)
  expect(cost('\t'.repeat(60_000))).toBeLessThan(100 * letters + 100)
  for (const [said, value] of [
    ['  a b\t', 'a b'],
    ['\t \t', ''],
    ['', ''],
    ['a', 'a'],
  ] as const)
    expect(new HeaderField('x', said).value).toBe(value)
})

test('names are remembered in little memory, however many and long there are', async () => {
  const encoder = new HpackEncoder()
  const into = Buffer.alloc(64 * 1024)
  const held = () => {
    heapBytes() // collects
    return process.memoryUsage().arrayBuffers
  }
  const before = held()
  for (let i = 0; i < 3_000; i += 1) encoder.putFields(into, 0, [`x${i}-${'n'.repeat(20_000)}`, 'v', `x-${i}`, 'v'])
  await expect.poll(held).toBeLessThan(before + 3_000_000) // they were 10 MB
  expect(encoder.putFields(into, 0, ['x-1', 'v'])).toBe(7) // it has lived until now
})
