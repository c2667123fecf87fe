import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { NODE } from '../child.ts'
import { EDGE_NODE_FLAGS } from './node-flags.ts'

/** Makes enough that lives for a moment to have the old objects collected some twenty times, while no code but this runs. */
const QUIET_TIME = `
  const kept = []
  for (let round = 0; round < 80; round += 1) {
    kept.length = 0
    for (let i = 0; i < 60_000; i += 1) kept.push({ some: [i, {}, {}] })
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
`

/** How many functions a node with these flags has thrown the compiled code of away, collection by collection. */
function flushed(flags: readonly string[]): number[] {
  const told = ['--trace-flush-code', '--input-type=module', '--eval', QUIET_TIME]
  const { stdout } = spawnSync(NODE.program, [...flags, '--min-semi-space-size=1', '--max-semi-space-size=1', ...told], {
    encoding: 'utf8',
  })
  return Array.from(stdout.matchAll(/(\d+) flushed SharedFunctionInfo/g), ([, count]) => Number(count))
}

test('an edge process keeps its compiled code through any number of collections, which node by itself does not', () => {
  const ofEdge = flushed(EDGE_NODE_FLAGS)
  expect(ofEdge.length).toBeGreaterThan(6)
  expect(Math.max(...ofEdge)).toBe(0)
  expect(Math.max(...flushed([]))).toBeGreaterThan(500)
})
