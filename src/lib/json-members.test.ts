import fc from 'fast-check'
import { expect, test } from 'vitest'
import { joinMembers, listMembers, splitMembers } from './json-members.ts'

test('an object falls into its members as they were written', () => {
  expect(splitMembers(' { "a" : [1, {"b": "}"}] ,\n"10":1e2,"q\\"":null } ')).toEqual([
    ['"a"', '[1, {"b": "}"}]'],
    ['"10"', '1e2'],
    ['"q\\""', 'null'],
  ])
  expect(splitMembers('{}')).toEqual([])
  expect(splitMembers(' { } ')).toEqual([])
})

test('of a key that occurs twice the last value counts, in the first place', () => {
  expect(joinMembers(splitMembers('{"a":1,"b":2,"\\u0061":3}'))).toBe('{"a":3,"b":2}')
  expect(listMembers('{"a":1,"b":2,"\\u0061":3}')).toHaveLength(3)
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
  const long = JSON.stringify('\\"x'.repeat(500_000))
  expect(splitMembers(`{"long":${long}}`)).toEqual([['"long"', long]])
})
