import { expect, onTestFinished, test } from 'vitest'
import { createLastingWatch } from './lasting.ts'

const VISITS = 8_000

test('what lasts in thousands is looked after with turns for everybody else in between, and what has lost its hostname ends', async () => {
  let turn = 0
  let isOver = false
  const count = () => {
    turn += 1
    if (!isOver) setImmediate(count)
  }
  const lookedAtIn = new Map<number, number>()
  const cut: number[] = []
  const watch = createLastingWatch<{ nth: number; startedAt: number }>({
    isInDoubt: ({ nth }) => nth % 2 === 0,
    isServed({ nth }) {
      lookedAtIn.set(turn, (lookedAtIn.get(turn) ?? 0) + 1)
      return nth === 2 ? new Promise(() => {}) : Promise.resolve(nth % 1_000 !== 0)
    },
    cut: ({ nth }) => void cut.push(nth),
  })
  onTestFinished(watch.destroy)
  const startedAt = performance.now()
  for (let nth = 1; nth <= VISITS; nth += 1) watch.add({ nth, startedAt })
  watch.add({ nth: 0, startedAt: startedAt + 3_600_000 })
  count()
  await expect.poll(() => cut).toHaveLength(VISITS / 1_000)
  isOver = true
  expect(cut).not.toContain(0)
  expect(Math.max(...lookedAtIn.values())).toBeLessThanOrEqual(200)
  expect([...lookedAtIn.values()].reduce((sum, looks) => sum + looks)).toBe(VISITS / 2)
})
