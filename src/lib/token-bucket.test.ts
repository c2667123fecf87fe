import { expect, test } from 'vitest'
import { TokenBucket } from './token-bucket.ts'

const takeAll = (bucket: TokenBucket, at: number): number => {
  let taken = 0
  while (bucket.take(at)) taken += 1
  return taken
}

test('a burst may come at once, and then as many as the rate allows', () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 3 }, 0)
  expect(takeAll(bucket, 0)).toBe(3)
  expect(takeAll(bucket, 99)).toBe(0)
  expect(takeAll(bucket, 250)).toBe(2)
  expect(takeAll(bucket, 60_000)).toBe(3)
})

test('a clock that goes back adds nothing, and goes on from there', () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 3 }, 10_000)
  takeAll(bucket, 10_000)
  expect(takeAll(bucket, 0)).toBe(0)
  expect(takeAll(bucket, 100)).toBe(1)
})

test('what is given back can be taken again, and is not more than a burst', () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 3 }, 0)
  takeAll(bucket, 0)
  bucket.giveBack()
  expect(takeAll(bucket, 0)).toBe(1)
  bucket.giveBack()
  expect(takeAll(bucket, 60_000)).toBe(3)
})
