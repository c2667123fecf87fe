import { expect, test } from 'vitest'
import { Lru } from './lru.ts'
import { createOnce } from './once.ts'

test('the least recently used entry leaves first', () => {
  const lru = new Lru<string, number>(2)
  lru.set('a', 1)
  lru.set('b', 2)
  lru.get('a')
  lru.set('c', 3)
  expect([lru.get('a'), lru.get('b'), lru.get('c'), lru.size]).toEqual([1, undefined, 3, 2])
})

test('every value that leaves is told of once: the oldest, the replaced, the deleted and the rest', () => {
  const left: string[] = []
  const lru = new Lru<string, string>(2, (value) => left.push(value))
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

test('everybody who asks while a task runs shares its outcome, and the next one starts anew', async () => {
  const once = createOnce<string, number>()
  let runs = 0
  const task = () => Promise.resolve(++runs)
  expect(await Promise.all([once('k', task), once('k', task), once('other', task)])).toEqual([1, 1, 2])
  expect(await once('k', task)).toBe(3)
})

test('a failure is shared and not remembered', async () => {
  const once = createOnce<string, number>()
  const failing = () => Promise.reject(new Error('no'))
  await expect(Promise.all([once('k', failing), once('k', failing)])).rejects.toThrow('no')
  expect(await once('k', async () => 1)).toBe(1)
})
