import { expect, test, vi } from 'vitest'
import { createUpstreamAddresses } from './upstream-addresses.ts'

function memory() {
  const state = { nowMs: 0, looks: 0, answer: async (): Promise<string[]> => ['192.0.2.1'] }
  const find = createUpstreamAddresses(
    (_host) => {
      state.looks += 1
      return state.answer()
    },
    () => state.nowMs,
  )
  return { state, find: () => find('app.vendor.com') }
}

test('a look-up serves everybody for ten seconds', async () => {
  const { state, find } = memory()
  await Promise.all(Array.from({ length: 50 }, find))
  state.nowMs = 9_999
  expect(await find()).toEqual(['192.0.2.1'])
  expect(state.looks).toBe(1)
})

test('a changed address is found after ten seconds', async () => {
  const { state, find } = memory()
  await find()
  state.answer = async () => ['192.0.2.2']
  state.nowMs = 10_000
  expect(await find()).toEqual(['192.0.2.2'])
})

test('while DNS fails the last answer stands in, for ten minutes', async () => {
  const { state, find } = memory()
  await find()
  state.answer = () => Promise.reject(new Error('SERVFAIL'))
  state.nowMs = 10 * 60_000
  expect(await find()).toEqual(['192.0.2.1'])
  state.nowMs += 1
  await expect(find()).rejects.toThrow('SERVFAIL')
})

test('while DNS is silent the last answer stands in after a second', async () => {
  vi.useFakeTimers()
  try {
    const { state, find } = memory()
    await find()
    state.answer = () => new Promise(() => {})
    state.nowMs = 20_000
    const found = find()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await found).toEqual(['192.0.2.1'])
  } finally {
    vi.useRealTimers()
  }
})

test('nothing known and no answer is the failure itself', async () => {
  const { state, find } = memory()
  state.answer = () => Promise.reject(new Error('no such name'))
  await expect(find()).rejects.toThrow('no such name')
})
