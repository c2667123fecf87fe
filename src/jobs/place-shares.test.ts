import { expect, test } from 'vitest'
import { sharePlaces } from './place-shares.ts'

/** Holders that want all they can get take turns, as jobs that end and begin do. */
function shareOut(places: number, holders: readonly string[]): number[] {
  const shared = sharePlaces(places)
  const held = holders.map(() => 0)
  for (let round = 0; round < 10 * places; round++) {
    for (const [index, holder] of holders.entries()) {
      if (held.reduce((sum, count) => sum + count) === places || shared.full().includes(holder)) continue
      held[index]! += 1
      void shared.hold(holder, () => new Promise(() => {}))
    }
  }
  return held
}

test.each([
  [['ada'], [16]],
  [
    ['ada', 'bob'],
    [9, 9],
  ],
  [
    ['ada', 'bob', 'cid'],
    [7, 6, 6],
  ],
])('of twenty places %j hold %j, and some stay free', (holders, shares) => {
  expect(shareOut(20, holders)).toEqual(shares)
})

test('a place is free again when its work has ended, however it ends', async () => {
  const shared = sharePlaces(2)
  const end = Promise.withResolvers<void>()
  const held = shared.hold('ada', () => end.promise)
  const other = shared.hold(undefined, () => end.promise)
  expect(shared.full()).toEqual(['ada'])
  end.reject(new Error('it failed'))
  await expect(held).rejects.toThrow('it failed')
  await expect(other).rejects.toThrow('it failed')
  expect(shared.full()).toEqual([])
})
