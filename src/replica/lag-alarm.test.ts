import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createLagAlarm } from './lag-alarm.ts'

test('a copy that is a minute behind is said once, and its return once, however often it is looked at', () => {
  const lines: string[] = []
  const alarm = createLagAlarm(pino({ level: 'info' }, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) }))
  for (const lagMs of [0, 59_000, 61_000, 70_000, 30_000, 90_000, 4_000, 0, 61_000]) alarm({ lagMs })
  expect(lines).toEqual([
    expect.stringContaining('is behind'),
    expect.stringContaining('no longer behind'),
    expect.stringContaining('is behind'),
  ])
})
