import { expect, test } from 'vitest'
import { ExactLru } from './exact-lru.ts'

test('every value that leaves is told of once: the oldest, the replaced, the deleted and the rest', () => {
  const left: string[] = []
  const lru = new ExactLru<string, string>(2, (value) => left.push(value))
  for (const key of ['a', 'b', 'c']) lru.set(key, key)
  lru.set('c', 'new')
  lru.set('c', 'new')
  lru.delete('b')
  lru.delete('nobody')
  lru.set('d', 'd')
  lru.clear()
  expect(left).toEqual(['a', 'c', 'b', 'new', 'd'])
  expect(lru.size).toBe(0)
})
