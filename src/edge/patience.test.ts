import { expect, test } from 'vitest'
import { socketPair } from '../../test/support/socket-pair.ts'
import { standStill } from '../../test/support/stand-still.ts'
import { pause } from '../lib/back-off.ts'
import { Patience } from './patience.ts'

test('of a standstill no more than a tenth of the time passes', async () => {
  const patience = new Patience(500)
  let isOver = false
  const stop = patience.wait(() => (isOver = true))
  await standStill(600)
  for (let step = 0; step < 4; step += 1) await pause(50) // of the ten, each of which ends in its turn, however late that comes
  expect(isOver).toBe(false)
  stop()
  expect(patience.leftMs).toBeGreaterThan(50)
  expect(patience.leftMs).toBeLessThan(300)
})

test('it passes over several waits, each of which may be given a part of it', async () => {
  const patience = new Patience(300)
  const beganMs = performance.now()
  const passed = (untilLeftMs?: number) => new Promise<void>((resolve) => void patience.wait(resolve, untilLeftMs))
  await passed(200)
  expect(patience.leftMs).toBeLessThanOrEqual(200)
  expect(patience.leftMs).toBeGreaterThan(100)
  await passed()
  expect(patience.leftMs).toBeLessThanOrEqual(0)
  expect(performance.now() - beganMs).toBeGreaterThanOrEqual(300)
  await passed() // at once
})

/** Of 200. */
const FIRST_STEP_LEAVES_MS = 190

test('it is over only when what had come by then is read', async () => {
  const { near, far } = await socketPair()
  const order: string[] = []
  near.on('data', () => order.push('read'))
  const over = Promise.withResolvers<void>()
  new Patience(200).wait(() => {
    order.push('over')
    over.resolve()
  }, FIRST_STEP_LEAVES_MS)
  await standStill(100, () => far.write('a word'))
  await over.promise
  expect(order).toEqual(['read', 'over'])
})

test('who ends a wait hears no more of it, also in its last moment', async () => {
  let isOver = false
  const stop = new Patience(200).wait(() => (isOver = true), FIRST_STEP_LEAVES_MS)
  setTimeout(stop, 50) // behind its last timer, and before what has come is read
  await standStill(100)
  await pause(50)
  expect(isOver).toBe(false)
})
