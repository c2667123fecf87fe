import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mergeMetadata, readMetadata } from './metadata.ts'

const refusal = (json: string) => {
  try {
    return readMetadata(json)
  } catch (error) {
    return (error as { code: string }).code
  }
}

test('metadata is kept exactly as it was sent', () => {
  const sent = [
    '{}',
    '{ "b": 1.50, "a": [1e2, -0] }',
    '{"10":1,"9":2}',
    '{"__proto__":{"x":1}}',
    '{"é":"\\ud83d\\ude00 😀"}',
    '{"n":9007199254740992}',
  ]
  for (const json of sent) expect(readMetadata(json)).toBe(json)
  expect(readMetadata(' {"a":1}\n')).toBe('{"a":1}')
})

test('what would change on its way is refused', () => {
  const bad = [
    '[]',
    'null',
    '"text"',
    '1',
    '{',
    '',
    '{"a":"\\u0000"}',
    '{"\\u0000":1}',
    '{"a":"\\ud800"}',
    '{"a":["\\udc00 \\ud800"]}',
    `{"a":"${'\ud800'}"}`,
    '{"a":9007199254740993}',
    '{"a":[{"b":-123456789012345678901}]}',
    '{"a":1e999}',
    '{"a":1,"b":2,"a":1}',
    '{"a":[{"b":1,"\\u0062":2}]}',
  ]
  for (const json of bad) expect(refusal(json), json).toBe('metadata_invalid')
  for (const good of ['{"a":"\\\\u0000"}', '{"a":"9007199254740993"}', '{"a":0.12345678901234567}']) expect(refusal(good)).toBe(good)
})

test('16 KB is the limit, counted in bytes, before and after a merge', () => {
  const of = (bytes: number, key = 'a') => `{"${key}":"${'x'.repeat(bytes - 8)}"}`
  expect(refusal(of(16_384))).toBe(of(16_384))
  expect(refusal(of(16_385))).toBe('metadata_invalid')
  expect(refusal(`{"a":"${'é'.repeat(8_200)}"}`)).toBe('metadata_invalid')
  expect(() => mergeMetadata(of(16_384), of(20, 'b'))).toThrow('16384 bytes')
})

test('a merge is shallow: the newer key wins in its old place, new keys follow, raw values stay', () => {
  expect(mergeMetadata('{"10":1.0,"b":{"x":1},"2":2}', '{"b":{"y":2},"1":1e1}')).toBe('{"10":1.0,"b":{"y":2},"2":2,"1":1e1}')
  expect(mergeMetadata('{ "a" : 1 }', '{}')).toBe('{ "a" : 1 }')
  expect(mergeMetadata('{}', '{ "a" : 1 }')).toBe('{ "a" : 1 }')
  expect(mergeMetadata('{"__proto__":1}', '{"__proto__":2}')).toBe('{"__proto__":2}')
})

test('a merge means what spreading one object over the other means', () => {
  const object = fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 8 })
  fc.assert(
    fc.property(object, object, (older, newer) => {
      const merged = mergeMetadata(JSON.stringify(older), JSON.stringify(newer))
      expect(JSON.parse(merged)).toEqual(JSON.parse(JSON.stringify({ ...older, ...newer })))
    }),
  )
})
