import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { findEdgeRuntime } from '../edge-runtime.ts'

/** Takes one read of what comes, waits until more would have come, and then takes all; says what came meanwhile. */
const PAUSED = `
  import { once } from 'node:events'
  import { connect, createServer } from 'node:net'
  import { takePushed } from '${new URL('./pushed-reads.ts', import.meta.url)}'

  const server = createServer((far) => far.end(Buffer.alloc(20_000_000))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = connect(server.address().port, '127.0.0.1')
  let taken = 0
  let isHeldBack = true
  takePushed(near, (chunk) => {
    taken += chunk.length
    if (isHeldBack) near.pause()
  })
  near.resume()
  while (taken === 0) await Bun.sleep(1)
  await Bun.sleep(300)
  const waiting = near.readableLength
  isHeldBack = false
  near.resume()
  await once(near, 'end')
  server.close()
  console.log(JSON.stringify({ waiting, taken }))
`

test('Bun reads nothing more, which may be half a megabyte, for a connection that was paused by what it read', () => {
  const { program, flags, env } = findEdgeRuntime({ edgeRuntime: 'bun' })
  const { stdout } = spawnSync(program, [...flags, '-e', PAUSED], { encoding: 'utf8', env, timeout: 20_000 })
  expect(JSON.parse(stdout)).toEqual({ waiting: 0, taken: 20_000_000 })
})
