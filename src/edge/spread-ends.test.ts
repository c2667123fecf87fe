import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { spreadEnds } from './spread-ends.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function start(count: number, withinMs: number) {
  const left = new Set(Array.from({ length: count }, (_, i) => i))
  const stop = spreadEnds(withinMs, { all: () => [...left], end: (one) => left.delete(one) })
  return { left, stop }
}

test('nobody is ended before the last third, then all in even shares', () => {
  const { left, stop } = start(1_000, 3_000)
  vi.advanceTimersByTime(2_000)
  expect(left.size).toBe(1_000)
  for (let tenth = 1; tenth <= 10; tenth += 1) {
    vi.advanceTimersByTime(100)
    expect(Math.abs(left.size - (1_000 - 100 * tenth))).toBeLessThanOrEqual(10)
  }
  stop()
})

test('the spreading lasts no longer than ten seconds', () => {
  const { left, stop } = start(1_000, 60_000)
  vi.advanceTimersByTime(50_000)
  expect(left.size).toBe(1_000)
  vi.advanceTimersByTime(5_000)
  expect(left.size).toBe(500)
  stop()
})

test('one alone has all of the time', () => {
  const { left, stop } = start(1, 3_000)
  vi.advanceTimersByTime(2_989)
  expect(left.size).toBe(1)
  stop()
})

test('who leaves by itself counts for its share', () => {
  const { left, stop } = start(100, 3_000)
  vi.advanceTimersByTime(2_010)
  for (let i = 50; i < 100; i += 1) left.delete(i)
  vi.advanceTimersByTime(490)
  expect(left.size).toBeGreaterThanOrEqual(49)
  vi.advanceTimersByTime(250)
  expect(left.size).toBe(25)
  stop()
})

test('a standstill is made up for', () => {
  const { left, stop } = start(100, 3_000)
  vi.advanceTimersByTime(2_010)
  const now = performance.now() // as of a process that is frozen: its timers do not run, the clock does
  vi.spyOn(performance, 'now').mockReturnValue(now + 490)
  vi.advanceTimersToNextTimer()
  expect(left.size).toBe(50)
  vi.restoreAllMocks()
  stop()
})

test('nothing happens any more once it is ended', () => {
  const { left, stop } = start(10, 3_000)
  stop()
  vi.advanceTimersByTime(5_000)
  expect(left.size).toBe(10)
})
