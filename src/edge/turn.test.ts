import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTurn } from './turn.ts'

test('who asks is called once, when the turn ends, in the order of asking', async () => {
  const turn = createTurn()
  const called: string[] = []
  turn.add({ endTurn: () => called.push('one') })
  turn.add({ endTurn: () => called.push('two') })
  expect(called).toEqual([])
  await nextTurn()
  await nextTurn()
  expect(called).toEqual(['one', 'two'])
})

test('who asks while a turn ends is called before the next one begins', async () => {
  const turn = createTurn()
  const called: string[] = []
  turn.add({ endTurn: () => turn.add({ endTurn: () => called.push('answer to it') }) })
  turn.add({ endTurn: () => called.push('second') })
  await nextTurn()
  expect(called).toEqual(['second', 'answer to it'])
})

test('of many who only write, each sixteen leave together before the turn ends', async () => {
  const turn = createTurn()
  const called: number[] = []
  turn.add({ endTurn: () => called.push(-1) })
  for (let i = 0; i < 40; i += 1) turn.addWriter({ endTurn: () => called.push(i) })
  expect(called).toEqual(Array.from({ length: 32 }, (_, i) => i))
  await nextTurn()
  expect(called).toEqual([...Array.from({ length: 40 }, (_, i) => i), -1])
})

test('the clock stands still within a turn, and is never behind by more', async () => {
  const turn = createTurn()
  const beforeMs = performance.now()
  const ms = turn.nowMs()
  const timeMs = turn.timeMs()
  while (performance.now() < ms + 3);
  expect(turn.nowMs()).toBe(ms)
  expect(turn.timeMs()).toBe(timeMs)
  expect(ms).toBeGreaterThanOrEqual(beforeMs)
  await wait(5)
  await nextTurn() // that timers ran does not say that the turn before them has ended
  const laterMs = performance.now()
  expect(turn.nowMs()).toBeGreaterThanOrEqual(laterMs)
  expect(Math.abs(turn.timeMs() - Date.now())).toBeLessThan(1_000)
  expect(turn.timeMs()).toBeGreaterThan(timeMs)
})
