import { expect, test } from 'vitest'
import { Lru } from './lru.ts'

test('what was used lately stays, however many others come, and what was not leaves', () => {
  const lru = new Lru<string, number>(100)
  lru.set('used', 1)
  lru.set('idle', 1)
  for (let n = 0; n < 1_000; n += 1) {
    lru.set(`one of many ${n}`, n)
    if (n % 20 === 0) expect(lru.get('used')).toBe(1)
    expect(lru.size).toBeLessThanOrEqual(100)
  }
  expect(lru.get('idle')).toBeUndefined()
})

test('the half that was set last is held, and a value that is set again or deleted is nowhere found as it was', () => {
  const lru = new Lru<string, number>(100)
  for (let n = 0; n < 1_000; n += 1) lru.set(`entry ${n}`, n)
  for (let n = 950; n < 1_000; n += 1) expect(lru.peek(`entry ${n}`)).toBe(n)
  lru.set('entry 950', 1)
  expect([lru.get('entry 950'), lru.delete('entry 950'), lru.get('entry 950'), lru.delete('entry 950')]).toEqual([
    1,
    true,
    undefined,
    false,
  ])
})

test('entries that are deleted by what they hold are gone from both halves, and the others stay', () => {
  const lru = new Lru<number, number>(100)
  for (let n = 0; n < 1_000; n += 1) lru.set(n, n % 2)
  const before = Array.from({ length: 1_000 }, (_, n) => n).filter((n) => lru.peek(n) === 0)
  lru.deleteWhere((value) => value === 1)
  expect(lru.size).toBe(before.length)
  expect(before.every((n) => lru.peek(n) === 0)).toBe(true)
})

test('an entry more costs the same with a hundred thousand in memory as with a thousand', () => {
  const timeFor = (max: number): number => {
    const lru = new Lru<string, number>(max)
    for (let n = 0; n < max * 2; n += 1) lru.set(`entry ${n}`, n)
    const { user } = process.cpuUsage()
    for (let n = 0; n < 100_000; n += 1) lru.set(`newer ${n}`, n)
    return process.cpuUsage().user - user
  }
  const least = (max: number) => Math.min(...Array.from({ length: 3 }, () => timeFor(max)))
  expect(least(100_000)).toBeLessThan(least(1_000) * 20)
})
