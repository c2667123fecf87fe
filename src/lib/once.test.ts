import { expect, test } from 'vitest'
import { createOnce } from './once.ts'

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
