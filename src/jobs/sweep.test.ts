import { expect, test } from 'vitest'
import { pause } from '../lib/back-off.ts'
import { createLog } from '../log.ts'
import { startSweeps } from './sweep.ts'

const TAKES_MS = 20
const FOR_MS = 600

test('a sweep that takes long comes less often than it is to, and others come in time', async () => {
  const startedAtMs = performance.now()
  let slow = 0
  let greedy = 0
  const run = (count: () => void) => async () => {
    count()
    await pause(TAKES_MS, new AbortController().signal)
  }
  const sweeps = startSweeps(
    [
      { name: 'slow', everyMs: 1, shareMax: 0.1, run: run(() => (slow += 1)) },
      { name: 'greedy', everyMs: 1, run: run(() => (greedy += 1)) },
    ],
    createLog('test', 'fatal'),
  )
  await pause(FOR_MS, new AbortController().signal)
  await sweeps.stop()
  const tookMs = performance.now() - startedAtMs // a busy machine takes longer
  expect(slow).toBeGreaterThan(0)
  expect(slow).toBeLessThanOrEqual(Math.ceil(tookMs / (TAKES_MS * 10)) + 1)
  expect(greedy).toBeGreaterThan(slow)
})
