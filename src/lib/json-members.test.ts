import fc from 'fast-check'
import { expect, test } from 'vitest'
import { joinMembers, repeatedName, splitMembers } from './json-members.ts'

test('an object falls into its members as they were written', () => {
  expect(splitMembers(' { "a" : [1, {"b": "}"}] ,\n"10":1e2,"q\\"":null } ')).toEqual([
    ['"a"', '[1, {"b": "}"}]'],
    ['"10"', '1e2'],
    ['"q\\""', 'null'],
  ])
  expect(splitMembers('{}')).toEqual([])
  expect(splitMembers(' { } ')).toEqual([])
})

test.each([
  ['{"a":1,"b":2,"a":1}', 'a'],
  ['{"a":1,"\\u0061" \n:3}', 'a'],
  ['{"a":{"":1},"b":[0,{"c":"c","d":{"c":1},"c":2}]}', 'c'],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['[{"a":1},{"a":{"a":"a"}},"a","a"]', undefined],
  ['{"a":"\\"b\\":","b":"{","c":["}","b"]}', undefined],
  ['"a"', undefined],
])('of %s the name that an object has twice is %s', (json, name) => {
  JSON.parse(json)
  expect(repeatedName(json)).toBe(name)
})

test('no object of which JSON.parse keeps every member has a name twice, and any has with one more of the same', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { minKeys: 1 }), fc.nat(), (object, n) => {
      const members = splitMembers(JSON.stringify(object))
      expect(repeatedName(joinMembers(members))).toBeUndefined()
      const again = members[n % members.length]!
      expect(repeatedName(joinMembers([...members, again]))).toBe(JSON.parse(again[0]))
    }),
  )
})

test('taken apart and put together, any object means the same, however it is spaced', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), fc.constantFrom(undefined, 2, '\t'), (object, space) => {
      const json = JSON.stringify(object, null, space)
      const members = splitMembers(json)
      expect(JSON.parse(joinMembers(members))).toEqual(JSON.parse(json))
      expect(members.map(([key, value]) => [JSON.parse(key), JSON.parse(value)])).toEqual(Object.entries(JSON.parse(json)))
    }),
  )
})

test('what is no object is refused instead of being half read', () => {
  for (const text of ['', '[]', '1', '"{}"', '{', '{"a"', '{"a":', '{"a":1', '{"a" 1}', '{a:1}'])
    expect(() => splitMembers(text), text).toThrow(SyntaxError)
})

test('a deep or long value costs no stack', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  expect(splitMembers(`{"deep":${deep}}`)).toEqual([['"deep"', deep]])
  expect(repeatedName(`${'{"a":'.repeat(100_000)}0${'}'.repeat(100_000)}`)).toBeUndefined()
  const long = JSON.stringify('\\"x'.repeat(500_000))
  expect(splitMembers(`{"long":${long}}`)).toEqual([['"long"', long]])
})
