import { expect, test } from 'vitest'
import { fuzzAnswerReader, fuzzRequestReader } from './readers.ts'

const SEED = 20261121

test('what our reader takes for requests, llhttp takes for the same requests, in whatever pieces they come', async () => {
  const { accepted, refused } = await fuzzRequestReader({ seed: SEED, from: 0, streams: 15_000 })
  expect(accepted).toBeGreaterThan(20_000)
  expect(refused).toBeGreaterThan(5_000)
})

test('what our reader takes for an application’s answers, llhttp takes for the same answers, in whatever pieces they come', async () => {
  const { accepted, refused } = await fuzzAnswerReader({ seed: SEED, from: 0, streams: 15_000 })
  expect(accepted).toBeGreaterThan(15_000)
  expect(refused).toBeGreaterThan(3_000)
})
