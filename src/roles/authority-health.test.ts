import { expect, test } from 'vitest'
import {
  COMEBACK_SPREAD_S,
  createAuthorityHealth,
  GIVEN_UP_FIRST_MS,
  GIVEN_UP_MAX_MS,
  INSISTING_EVERY_MS,
  OUTAGES_UNTIL_GIVEN_UP,
} from './authority-health.ts'

const FIRST = 'https://first.example/directory'

function setUp() {
  const clock = { ms: 1_000 }
  const lines: string[] = []
  const write = (_facts: object, text: string) => void lines.push(text)
  const log = { warn: write, info: write } as never
  const health = createAuthorityHealth({ log, nowMs: () => clock.ms, random: () => 0.5 })
  const failing = (times: number) => {
    for (let n = 0; n < times; n++) health.note(FIRST, 'outage')
  }
  return { clock, lines, health, failing }
}

test('an authority is given up after several outages in a row, not after as many with an answer between them', () => {
  const { health, failing } = setUp()
  failing(OUTAGES_UNTIL_GIVEN_UP - 1)
  health.note(FIRST, 'answered')
  failing(OUTAGES_UNTIL_GIVEN_UP - 1)
  expect(health.ask(FIRST)).toEqual({ kind: 'up' })
  failing(1)
  expect(health.ask(FIRST)).toMatchObject({ kind: 'pass' })
  expect(health.isUp(FIRST)).toBe(false)
})

test('after its time one order tries it, and its success makes it the first choice again', () => {
  const { health, failing, clock, lines } = setUp()
  failing(OUTAGES_UNTIL_GIVEN_UP)
  clock.ms += GIVEN_UP_FIRST_MS
  expect([health.ask(FIRST).kind, health.ask(FIRST).kind]).toEqual(['trial', 'pass'])
  health.note(FIRST, 'answered')
  expect(health.ask(FIRST)).toEqual({ kind: 'up' })
  expect(lines).toEqual([expect.stringContaining('passed over'), expect.stringContaining('is back')])
})

test('each trial that fails doubles the time, to a quarter of an hour', () => {
  const { health, failing, clock } = setUp()
  failing(OUTAGES_UNTIL_GIVEN_UP)
  const waits: number[] = []
  for (let trial = 0; trial < 7; trial++) {
    const before = clock.ms
    while (health.ask(FIRST).kind === 'pass') clock.ms += 1_000
    waits.push(clock.ms - before)
    health.note(FIRST, 'outage')
  }
  expect(waits.slice(0, 3)).toEqual([60_000, 120_000, 240_000])
  expect(Math.max(...waits)).toBe(GIVEN_UP_MAX_MS)
})

test('who must wait is told when to come back, spread so that a healed authority is not stormed', () => {
  const { health, failing } = setUp()
  failing(OUTAGES_UNTIL_GIVEN_UP)
  expect(health.ask(FIRST)).toEqual({ kind: 'pass', retryAfterS: 61 + COMEBACK_SPREAD_S / 2 })
})

test('with nobody else to ask it is tried before its time, by one order now and then, which makes its time no longer', () => {
  const { health, failing, clock } = setUp()
  failing(OUTAGES_UNTIL_GIVEN_UP)
  expect(health.ask(FIRST, { insist: true }).kind).toBe('pass')
  clock.ms += INSISTING_EVERY_MS
  expect([1, 2].map(() => health.ask(FIRST, { insist: true }).kind)).toEqual(['trial', 'pass'])
  health.note(FIRST, 'unknown')
  expect(health.ask(FIRST, { insist: true }).kind).toBe('trial')
  health.note(FIRST, 'outage')
  expect(health.ask(FIRST, { insist: true }).kind).toBe('pass')
  clock.ms += GIVEN_UP_FIRST_MS - INSISTING_EVERY_MS
  expect(health.ask(FIRST).kind).toBe('trial')
})

test('orders that began before an authority was given up do not lengthen its time, and a trial that never ends neither', () => {
  const { health, failing, clock } = setUp()
  failing(OUTAGES_UNTIL_GIVEN_UP + 20)
  clock.ms += GIVEN_UP_FIRST_MS
  expect(health.ask(FIRST).kind).toBe('trial')
  clock.ms += 180_000
  expect(health.ask(FIRST).kind).toBe('trial')
})
