import { expect, test } from 'vitest'
import { atTime, withLocalTimes } from './strings.ts'

const MOMENT = '2026-11-27T23:05:00.000Z'

test('a time names its zone, also within a sentence of the API', () => {
  const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'short' })
    .formatToParts(new Date(MOMENT))
    .find(({ type }) => type === 'timeZoneName')!
  expect(atTime(MOMENT)).toMatch(/^Nov 2[78], 2026, \d{1,2}:\d\d\s[AP]M \S+$/)
  expect(atTime(MOMENT).endsWith(` ${zone.value}`)).toBe(true)
  expect(withLocalTimes(`It waits until ${MOMENT}.`)).toBe(`It waits until ${atTime(MOMENT)}.`)
})
