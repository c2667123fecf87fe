import fc from 'fast-check'
import { expect, test } from 'vitest'
import { REMEMBERED_BYTES_MAX } from '../kept-bytes.ts'
import { HeaderField } from './header-field.ts'
import { LastHttp2Head, readHttp2Head } from './request-head.ts'

const ENTRIES = [
  [':method', 'GET'],
  [':method', 'OPTIONS'],
  [':scheme', 'https'],
  [':authority', 'shop.customer.com'],
  [':path', '/'],
  [':path', '/products?page=2'],
  [':path', '*'],
  [':path', 'https://other.example/'],
  [':path', 'no target'],
  ['accept', '*/*'],
  ['cookie', 'a=1'],
  ['content-length', '3'],
  ['te', 'trailers'],
].map(([name, value]) => new HeaderField(name!, value!))

test('a head whose entries are those of the head before is read as if it were the first', () => {
  const entries = fc.array(fc.constantFrom(...ENTRIES), { maxLength: 8 })
  const head = fc.tuple(fc.constantFrom(...ENTRIES.slice(4, 9)), entries).map(([path, others]) => {
    return [ENTRIES[0]!, ENTRIES[2]!, ENTRIES[3]!, path, ...others]
  })
  let repeated = 0
  fc.assert(
    fc.property(fc.array(fc.oneof(head, entries), { maxLength: 6 }), fc.nat(5), (heads, path) => {
      const last = new LastHttp2Head()
      const turned = heads.map((fields) => fields.map((field) => (field.name === ':path' ? ENTRIES[4 + (path % 5)]! : field)))
      for (const fields of heads.flatMap((one, i) => [one, one, turned[i]!])) {
        const again = last.again(fields)
        const read = readHttp2Head(fields)
        if (again) expect(again).toEqual(read)
        if (again) repeated += 1
        last.remember(fields, again ?? read)
      }
    }),
    { numRuns: 1_000 },
  )
  expect(repeated).toBeGreaterThan(100)
})

test('a long head is not kept for the next one, and does away with the one before', () => {
  const last = new LastHttp2Head()
  const short = [0, 2, 3, 4].map((i) => ENTRIES[i]!)
  const long = [...short, new HeaderField('cookie', 'a'.repeat(REMEMBERED_BYTES_MAX))]
  for (const fields of [short, long]) {
    last.remember(fields, readHttp2Head(fields))
    expect(last.again([...fields]) !== undefined).toBe(fields === short)
  }
  expect(last.again([...short])).toBeUndefined()
})

test('a hundred fields are read, and more where they are cookies, which browsers send one in a field', () => {
  const begin = [0, 2, 3, 4].map((i) => ENTRIES[i]!)
  const kindOf = (name: string, count: number) => readHttp2Head([...begin, ...Array<HeaderField>(count).fill(new HeaderField(name, 'a'))])
  expect(kindOf('x-a', 100)).toMatchObject({ kind: 'head' })
  expect(kindOf('cookie', 180)).toMatchObject({ kind: 'head' })
  expect(kindOf('x-a', 101)).toMatchObject({ kind: 'refused', status: 431 })
})

test.each([
  ['a.b', 'a.b:443', 'a.b'],
  ['a.b:443', 'A.b', 'a.b:443'],
  ['a.b:', 'a.b', 'a.b:'],
  ['a.b', 'a.b:8443', 400],
  ['a.b:443', 'a.b:8443', 400],
  ['a.b:443', 'c.d', 400],
])('to be for %s with the Host %s comes to %s', (authority, host, read) => {
  const fields = [ENTRIES[0]!, ENTRIES[2]!, ENTRIES[4]!, new HeaderField(':authority', authority), new HeaderField('host', host)]
  const expected = typeof read === 'string' ? { kind: 'head', authority: read } : { kind: 'refused', status: read }
  expect(readHttp2Head(fields)).toMatchObject(expected)
})

test('an expectation that is not ours counts wherever it stands', () => {
  const begin = [0, 2, 3, 4].map((i) => ENTRIES[i]!)
  const read = (...expected: string[]) => readHttp2Head([...begin, ...expected.map((value) => new HeaderField('expect', value))])
  expect(read('100-continue', '100-Continue')).toMatchObject({ kind: 'head', expectsContinue: true })
  expect(read('miracles', '100-continue')).toMatchObject({ kind: 'refused', status: 417 })
  expect(read('100-continue', 'miracles')).toMatchObject({ kind: 'refused', status: 417 })
})
