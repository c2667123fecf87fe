import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { processorUs } from './measure.ts'

test('what a thread has used stays counted when it ends', async () => {
  const thread = new Worker(
    'const end = Date.now() + 300; while (Date.now() < end) {}; require("worker_threads").parentPort.once("message", () => process.exit()).postMessage("used")',
    { eval: true },
  )
  const before = processorUs(process.pid)
  await new Promise((resolve) => thread.once('message', resolve))
  const used = processorUs(process.pid)
  expect(used - before).toBeGreaterThan(10_000)
  const ended = new Promise((resolve) => thread.once('exit', resolve))
  thread.postMessage('end')
  await ended
  expect(processorUs(process.pid)).toBeGreaterThanOrEqual(used)
})
