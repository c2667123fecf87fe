import { expect, test } from 'vitest'
import { StringTable } from './string-table.ts'

/** Of 18 to 34 characters: some lie in their slots, some partly elsewhere. */
const name = (n: number) => `${'shop-front-'.slice(n % 12)}${n}.customer.example`

test('whatever is set, set again and deleted, the table answers as a Map does', () => {
  const table = new StringTable(100_000)
  const map = new Map<string, number>()
  let random = 1
  const draw = (below: number) => {
    random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0
    return (random >>> 8) % below
  }
  for (let n = 0; n < 200_000; n += 1) {
    const key = name(draw(20_000))
    if (draw(3) === 0) {
      table.delete(key)
      map.delete(key)
    } else {
      const value = 2 ** 32 - 1 - draw(1_000)
      table.set(key, value)
      map.set(key, value)
    }
  }
  expect(table.size).toBe(map.size)
  for (let n = 0; n < 30_000; n += 1) expect(table.get(name(n))).toBe(map.get(name(n)) ?? 0)
})

// Each table draws its own seed, so that one in twenty once forgot what it had room for: many tables are looked at.
test.each([10, 100, 1_000, 10_000])('%i are held by each of many tables that are made for them', (max) => {
  for (let tables = 0; tables < Math.min(1_000, 300_000 / max); tables += 1) {
    const table = new StringTable(max)
    for (let n = 0; n < max; n += 1) table.set(name(n), n + 1)
    expect(table.size).toBe(max)
  }
})

test('as many as it is made for are held, and no more than a quarter more', () => {
  const table = new StringTable(300_000)
  for (let n = 0; n < 300_000; n += 1) table.set(name(n), n + 1)
  expect(Array.from({ length: 300_000 }, (_, n) => table.get(name(n))).findIndex((value, n) => value !== n + 1)).toBe(-1)
  for (let n = 300_000; n < 600_000; n += 1) {
    table.set(name(n), n + 1)
    if (table.get(name(n)) !== n + 1) throw new Error(`What was just set is not there: ${name(n)}`)
  }
  expect(table.size).toBeLessThanOrEqual(300_000 * 1.26)
  table.clear()
  expect([table.size, table.get(name(599_999))]).toEqual([0, 0])
})

test('names that come and go for ever take no more memory', () => {
  const table = new StringTable(10_000)
  const used = () => process.memoryUsage().arrayBuffers
  const round = (first: number) => {
    for (let n = first; n < first + 5_000; n += 1) table.set(name(n), 1)
    for (let n = first; n < first + 5_000; n += 1) table.delete(name(n))
  }
  round(0)
  const before = used()
  for (let first = 5_000; first < 500_000; first += 5_000) round(first)
  expect(used() - before).toBeLessThan(10_000_000)
  expect(table.size).toBe(0)
})

test('one string that begins another, the empty one and the longest are told apart; a longer one is passed over', () => {
  const table = new StringTable(1_000)
  const keys = ['', 'a', 'ab', 'abc', 'x'.repeat(254)]
  for (const [i, key] of keys.entries()) table.set(key, i + 1)
  expect(keys.map((key) => table.get(key))).toEqual([1, 2, 3, 4, 5])
  table.set('x'.repeat(255), 9)
  expect([table.get('x'.repeat(255)), table.size]).toEqual([0, 5])
})

test.each([200_000, 20_000])('of %i strings it says what it takes in memory, however many came before', (count) => {
  const table = new StringTable(100_000)
  for (let n = 0; n < count; n += 1) table.set(name(n), 1)
  for (let n = 0; n < count; n += 1) table.set(name(n), 2)
  expect(table.bytes / table.size).toBeGreaterThan(36)
  expect(table.bytes / table.size).toBeLessThan(80)
  table.clear()
  expect(table.bytes).toBe(new StringTable(100_000).bytes)
})
