import { expect, onTestFinished, test } from 'vitest'
import { createEndlessWatch } from './endless.ts'

const STREAMS = 8_000

test('what goes on in thousands is looked after with turns for everybody else in between, and what has lost its hostname ends', async () => {
  const watch = createEndlessWatch()
  onTestFinished(watch.destroy)
  let turn = 0
  let isOver = false
  const count = () => {
    turn += 1
    if (!isOver) setImmediate(count)
  }
  const lookedIn = new Map<number, number>()
  const ended: number[] = []
  for (let stream = 0; stream < STREAMS; stream += 1) {
    const isServed = async () => {
      lookedIn.set(turn, (lookedIn.get(turn) ?? 0) + 1)
      return stream % 1_000 !== 0
    }
    watch.watch({ isServed, end: () => void ended.push(stream) })
  }
  count()
  await expect.poll(() => ended).toHaveLength(STREAMS / 1_000)
  isOver = true
  expect(Math.max(...lookedIn.values())).toBeLessThanOrEqual(200)
})
