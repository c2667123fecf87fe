import { expect, test } from 'vitest'
import { createPendingTexts, type PendingText } from './pending-texts.ts'

test('however many labels are asked for, the store is asked once in half a second', async () => {
  let now = 0
  let loads = 0
  let pending: PendingText[] = [{ key: 'a', value: 'one' }]
  const load = async () => {
    loads += 1
    return pending
  }
  const texts = createPendingTexts(load, () => now)
  const found = await Promise.all(Array.from({ length: 1_000 }, (_, i) => texts.find(i % 2 ? 'a' : `guess ${i}`)))
  expect(found.filter(([text]) => text === 'one')).toHaveLength(500)
  expect(loads).toBe(1)
  pending = [...pending, { key: 'a', value: 'two' }]
  now = 499
  expect(await texts.find('a')).toEqual(['one'])
  now = 500
  expect(await texts.find('a')).toEqual(['one', 'two'])
  expect(loads).toBe(2)
})

test('a store that fails is asked again after half a second, and until then everybody is told', async () => {
  let now = 0
  let loads = 0
  const texts = createPendingTexts(
    async () => {
      loads += 1
      throw new Error('down')
    },
    () => now,
  )
  await expect(texts.find('a')).rejects.toThrow('down')
  await expect(texts.find('b')).rejects.toThrow('down')
  expect([loads, texts.state()]).toEqual([1, 'failed'])
  now = 500
  await expect(texts.find('a')).rejects.toThrow('down')
  expect(loads).toBe(2)
})
