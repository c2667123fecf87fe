import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { socketPair } from '../../test/support/socket-pair.ts'
import { Lingering } from './lingering.ts'

const SILENT_MS_MAX = 5_000
const IN_ALL_MS = 60_000

/** Half-open, as an end that reads on for long is. */
async function begin() {
  const { near, far } = await socketPair()
  far.on('error', () => {}).allowHalfOpen = true
  const lingering = new Lingering()
  const beganMs = Math.ceil(performance.now()) // sums of others are not exact
  const looks = (afterMs: number) => {
    lingering.look(beganMs + afterMs)
    return near.destroyed
  }
  return { near, far, lingering, looks }
}

const said = async (far: Socket, near: Socket) => {
  const before = near.bytesRead
  far.write('still here')
  await expect.poll(() => near.bytesRead).toBeGreaterThan(before)
}

test('an end that is silent is closed before one that is not', async () => {
  const { near, lingering, looks } = await begin()
  lingering.add(near, IN_ALL_MS)
  await once(near, 'finish')
  expect([looks(0), looks(SILENT_MS_MAX - 1_000), looks(SILENT_MS_MAX)]).toEqual([false, false, true])
})

test('one that says something now and then is read on, but not for ever', async () => {
  const { near, far, lingering, looks } = await begin()
  lingering.add(near, IN_ALL_MS)
  await once(near, 'finish')
  const saysOnUntil = async (ms: number) => {
    for (let afterMs = 0; afterMs < ms; afterMs += SILENT_MS_MAX - 1_000) {
      await said(far, near)
      expect(looks(afterMs)).toBe(false)
    }
  }
  await saysOnUntil(IN_ALL_MS)
  await said(far, near)
  expect(looks(2 * IN_ALL_MS)).toBe(true)
})

test('one that has a part of what it gets before it counts as silent', async () => {
  const { near, far, lingering, looks } = await begin()
  far.pause()
  while (near.write(Buffer.alloc(1_000_000)));
  lingering.add(near, IN_ALL_MS)
  expect([looks(0), looks(SILENT_MS_MAX), looks(2 * SILENT_MS_MAX)]).toEqual([false, false, false])
  far.resume()
  await once(near, 'finish')
  expect([looks(3 * SILENT_MS_MAX), looks(4 * SILENT_MS_MAX)]).toEqual([false, true])
})

test('one that ends is closed at once', async () => {
  const { near, far, lingering } = await begin()
  lingering.add(near, IN_ALL_MS)
  far.end()
  await once(near, 'close')
})

test('one that has gone is not looked after', async () => {
  const { near, lingering, looks } = await begin()
  near.destroy()
  lingering.add(near, IN_ALL_MS)
  expect(looks(0)).toBe(true)
  lingering.destroy()
})
