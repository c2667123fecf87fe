import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { NODE, type Runtime, spawnChild } from './child.ts'
import { findEdgeRuntime } from './edge-runtime.ts'
import { fileDescriptorsMax } from './file-descriptors.ts'

/** How many descriptors the child's table has room for (proc(5), FDSize) while it runs by `runtime`. */
async function roomOf(runtime: Runtime): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'namesake-child-'))
  const script = join(folder, 'serve.mjs')
  writeFileSync(script, "process.send({ type: 'ready' }); setInterval(() => {}, 1_000)")
  const program = { script, options: [], fds: [] }
  const child = spawnChild({ program, role: 'edge', env: process.env, dotEnv: {}, sockets: {}, output: { write: console.error }, runtime })
  onTestFinished(async () => {
    child.signal('SIGKILL')
    await child.ended
    rmSync(folder, { recursive: true })
  })
  expect(await child.ready).toBe(true)
  return Number(/^FDSize:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1])
}

test.each(['node', 'bun'] as const)('an edge on %s has room for its visitors from the start', async (edgeRuntime) => {
  const { descriptors, ...without } = findEdgeRuntime({ edgeRuntime, edgeConnections: 20_000 })
  const possible = Math.min(descriptors!, fileDescriptorsMax()!)
  const room = await roomOf({ ...without, descriptors: descriptors! })
  expect(room).toBeGreaterThanOrEqual(possible)
  expect(room).toBeLessThan(possible * 2)
  if (possible > 4_096) expect(await roomOf(without)).toBeLessThan(possible)
})

test('a process that cannot be started has ended for that reason, like one that ends by itself', async () => {
  const program = { script: 'serve.mjs', options: [], fds: [] }
  const runtime = { ...NODE, program: 'no\0program' } // spawn throws, as it does without memory for another process
  const child = spawnChild({ program, role: 'edge', env: process.env, dotEnv: {}, sockets: {}, output: { write: console.error }, runtime })
  expect([await child.ready, await child.ended]).toEqual([false, { code: null, reason: expect.stringContaining('null bytes') }])
})

test('whoever may not open as many files as would be wanted starts all the same', async () => {
  expect(await roomOf({ ...NODE, descriptors: fileDescriptorsMax()! + 1_000 })).toBeGreaterThan(0)
})
