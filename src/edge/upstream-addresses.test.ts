import { expect, test, vi } from 'vitest'
import { UpstreamFailure } from './upstream.ts'
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
  return { state, find: (host = 'app.vendor.com', owner = '1') => find(host, owner) }
}

test('a look-up serves everybody for ten seconds', async () => {
  const { state, find } = memory()
  await Promise.all(Array.from({ length: 50 }, () => find()))
  state.nowMs = 9_999
  expect(await find()).toEqual(['192.0.2.1'])
  expect(state.looks).toBe(1)
})

test('a failure is remembered for two seconds', async () => {
  const { state, find } = memory()
  state.answer = () => Promise.reject(new Error('SERVFAIL'))
  for (let n = 0; n < 10; n += 1) await expect(find()).rejects.toThrow('SERVFAIL')
  expect(state.looks).toBe(1)
  state.answer = async () => ['192.0.2.1']
  state.nowMs = 2_000
  expect(await find()).toEqual(['192.0.2.1'])
})

test('names that nobody answers for leave room for those of other projects', async () => {
  const { state, find } = memory()
  const answers: (() => void)[] = []
  state.answer = () => new Promise((resolve) => answers.push(() => resolve(['192.0.2.1'])))
  const slow = Array.from({ length: 50 }, (_, n) => find(`slow${n}.vendor.com`, '1').catch((error: Error) => error))
  state.answer = async () => ['192.0.2.2']
  expect(await find('app.other.com', '2')).toEqual(['192.0.2.2'])
  for (const answer of answers) answer()
  const ended = await Promise.all(slow)
  expect(ended.filter((one) => one instanceof UpstreamFailure).map(({ reason }) => reason)).toEqual(Array.from({ length: 48 }, () => 'dns'))
  expect(await find('slow9.vendor.com', '1')).toEqual(['192.0.2.2'])
})

test('all projects of one person leave room for those of others', async () => {
  const { state, find } = memory()
  state.answer = () => new Promise(() => {})
  for (let n = 0; n < 500; n += 1) void find(`slow${n}.vendor.com`, `${n % 50}`).catch(() => {})
  state.answer = async () => ['192.0.2.2']
  expect(await find('app.other.com', '51')).toEqual(['192.0.2.2'])
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

test('while others fill all places the last answer stands in, however old', async () => {
  const { state, find } = memory()
  await find()
  state.answer = () => new Promise(() => {})
  for (let n = 0; n < 120; n += 1) void find(`slow${n}.vendor.com`, `${n % 60}`)
  state.nowMs = 60 * 60_000
  expect(await find()).toEqual(['192.0.2.1'])
  await expect(find('never.other.com', '61')).rejects.toThrow('cannot be resolved at the moment')
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

test('a clock that is set back makes no answer and no failure younger', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  try {
    let looks = 0
    const find = createUpstreamAddresses(async (host) => {
      looks += 1
      if (host === 'away.vendor.com') throw new Error('SERVFAIL')
      return ['192.0.2.1']
    })
    const findBoth = async () => {
      expect(await find('app.vendor.com', '1')).toEqual(['192.0.2.1'])
      await expect(find('away.vendor.com', '1')).rejects.toThrow('SERVFAIL')
    }
    await findBoth()
    vi.advanceTimersByTime(10_000)
    vi.setSystemTime(Date.now() - 3_600_000)
    await findBoth()
    expect(looks).toBe(4)
  } finally {
    vi.useRealTimers()
  }
})
