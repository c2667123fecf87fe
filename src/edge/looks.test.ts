import { expect, onTestFinished, test } from 'vitest'
import { socketPair } from '../../test/support/socket-pair.ts'
import { standStill } from '../../test/support/stand-still.ts'
import { pause } from '../lib/back-off.ts'
import { startLooks } from './looks.ts'

const EVERY_MS = 400

test('at each look what had come by then is read', async () => {
  const { near, far } = await socketPair()
  const order: string[] = []
  near.on('data', () => order.push('read'))
  const looks = startLooks(EVERY_MS, () => void order.push('look'))
  onTestFinished(looks.stop)
  await standStill(2 * EVERY_MS, () => far.write('a word'))
  await expect.poll(() => order.slice(0, 2)).toEqual(['read', 'look'])
})

test('the first look behind a standstill is left out, and never two in succession', async () => {
  const looked: number[] = []
  const looks = startLooks(EVERY_MS, () => void looked.push(performance.now()))
  onTestFinished(looks.stop)
  for (let n = 0; n < 2; n += 1) {
    await standStill(1_000 + EVERY_MS)
    await pause(EVERY_MS / 8)
    expect(looked).toHaveLength(n)
  }
})
