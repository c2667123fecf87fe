import { expect, test } from 'vitest'
import { fuzzEdge } from './edge.ts'

// Another seed with each run would find more and repeat nothing: `npm run fuzz` is for that.
const SEED = 20261121

test('whatever comes, the application gets what llhttp reads in it, each request once, and nobody another’s answer', async () => {
  const { requests, arrived, refused } = await fuzzEdge({ seed: SEED, from: 0, streams: 2_000, way: 'node' })
  expect(requests).toBeGreaterThan(3_000)
  expect(arrived).toBeGreaterThan(2_500)
  expect(refused).toBeGreaterThan(300)
})

test('so does an application behind nginx', async () => {
  const { arrived, refused } = await fuzzEdge({ seed: SEED, from: 2_000, streams: 1_200, way: 'nginx' })
  expect(arrived).toBeGreaterThan(1_500)
  expect(refused).toBeGreaterThan(300)
})
