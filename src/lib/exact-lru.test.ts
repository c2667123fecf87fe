import { expect, test } from 'vitest'
import { ExactLru } from './exact-lru.ts'

test('every value that leaves is told of once: the oldest, the replaced, the deleted and the rest', () => {
  const left: string[] = []
  const lru = new ExactLru<string, string>({ max: () => 2, weightOf: () => 1, onLeave: (value) => left.push(value) })
  for (const key of ['a', 'b', 'c']) lru.set(key, key)
  lru.set('c', 'new')
  lru.set('c', 'new')
  lru.delete('b')
  lru.delete('nobody')
  lru.set('d', 'd')
  expect(lru.oldest).toBe('new')
  lru.clear()
  expect(lru.oldest).toBeUndefined()
  expect(left).toEqual(['a', 'c', 'b', 'new', 'd'])
  expect(lru.size).toBe(0)
})

test('as many leave as the newest needs room for, and as the room has become smaller by; the newest stays, whatever its weight', () => {
  const left: string[] = []
  let max = 10
  const lru = new ExactLru<string, string>({ max: () => max, weightOf: ({ length }) => length, onLeave: (value) => left.push(value) })
  for (const key of ['aaa', 'bbb', 'cccc']) lru.set(key, key)
  expect([left, lru.hasRoomFor(''), lru.hasRoomFor('d')]).toEqual([[], true, false])
  lru.get('aaa')
  lru.set('ddddd', 'ddddd')
  expect(left).toEqual(['bbb', 'cccc'])
  max = 2
  lru.set('e', 'e')
  expect(left).toEqual(['bbb', 'cccc', 'aaa', 'ddddd'])
  lru.set('ffffff', 'ffffff')
  expect([lru.size, lru.get('ffffff')]).toEqual([1, 'ffffff'])
})

test('where the room has become much smaller a few leave with each that comes, and in the end as many as there is no room for', () => {
  let max = 1_000
  const lru = new ExactLru<number, number>({ max: () => max, weightOf: () => 1, onLeave: () => {} })
  for (let n = 0; n < 1_000; n += 1) lru.set(n, n)
  max = 100
  lru.set(1_000, 1_000)
  expect(lru.size).toBe(993)
  for (let n = 1_001; n < 1_200; n += 1) lru.set(n, n)
  expect([lru.size, lru.get(1_199), lru.get(1_099)]).toEqual([100, 1_199, undefined])
  max = 95
  lru.shrink()
  lru.shrink()
  expect([lru.size, lru.get(1_104), lru.get(1_105)]).toEqual([95, undefined, 1_105])
})
