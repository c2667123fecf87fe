import { expect, test } from 'vitest'
import { SignsOfLife } from './signs-of-life.ts'

const PATIENCE_MS = 10_000
const later = (ms: number) => performance.now() + ms

test('whoever was sent something and says nothing is asked once, and is dead when the question stays open', () => {
  const signs = new SignsOfLife(PATIENCE_MS)
  expect(signs.ask(later(PATIENCE_MS + 1))).toBe(false) // nothing was sent
  signs.sent()
  expect(signs.ask(later(PATIENCE_MS - 100))).toBe(false)
  expect(signs.ask(later(PATIENCE_MS + 1))).toBe(true)
  expect(signs.ask(later(PATIENCE_MS + 2))).toBe(false)
  expect(signs.isDead(later(PATIENCE_MS + 2), 0)).toBe(false)
  expect(signs.isDead(later(2 * PATIENCE_MS + 2), 0)).toBe(true)
  expect(signs.isDead(later(2 * PATIENCE_MS + 2), later(PATIENCE_MS + 3))).toBe(false)
  signs.heard()
  expect(signs.isDead(later(3 * PATIENCE_MS), 0)).toBe(false)
})

test('while nothing but answers to questions is heard, two are asked, and then one in five and a half minutes', () => {
  const signs = new SignsOfLife(PATIENCE_MS)
  const isAskedAfter = (ms: number) => {
    signs.sent()
    const isAsked = signs.ask(later(ms))
    signs.heard()
    return isAsked
  }
  expect([isAskedAfter(11_000), isAskedAfter(22_000), isAskedAfter(33_000)]).toEqual([true, true, false])
  expect(isAskedAfter(400_000)).toBe(true)
  signs.moved()
  expect(isAskedAfter(411_000)).toBe(true)
})
