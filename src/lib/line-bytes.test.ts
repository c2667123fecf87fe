import { expect, test } from 'vitest'
import { LineBytes } from './line-bytes.ts'

const written = (write: (line: LineBytes) => void): string => {
  const line = new LineBytes(4)
  write(line)
  return line.take().toString()
}

test.each(['', 'plain', 'a "quoted" \\ one', 'tab\tand\nend', 'Köln', '\u0000\u001f', '日本', '\ud800 alone', 'x'.repeat(1_000)])(
  'what it writes of %j is what JSON holds of it',
  (text) => expect(written((line) => line.json(text))).toBe(JSON.stringify(text).slice(1, -1)),
)

test.each(['\u007f', 'a\u009b2J\u009d0;b\u009c\u0085', '"\u2028\u2029', '\u00a0é'])(
  'no terminal obeys and no reader of lines cuts what it writes of %j',
  (text) => {
    const json = written((line) => line.json(text))
    expect(json).not.toMatch(/[\p{Cc}\u2028\u2029]/u)
    expect(JSON.parse(`"${json}"`)).toBe(text)
  },
)

test.each(['', 'GET', 'x'.repeat(20), 'x'.repeat(21), 'ab'.repeat(500).slice(1)])(
  'what needs no escaping is written as it is: %j',
  (text) => expect(written((line) => line.plain(text))).toBe(text),
)

test.each([0, 1, 9, 10, 99, 100, 2_147_483_647, 2_147_483_648, Number.MAX_SAFE_INTEGER])('the integer %d is written whole', (value) =>
  expect(written((line) => line.integer(value))).toBe(String(value)),
)

test.each([0, 0.04, 0.05, 0.96, 1, 1.26, 12.5, 99.94, 99.96, 214_748_364.7, 3e9 + 0.51])('%d is rounded to tenths', (value) =>
  expect(Number(written((line) => line.tenths(value)))).toBe(Math.round(value * 10) / 10),
)

test('pieces follow each other, and what was taken is gone', () => {
  const line = new LineBytes(4)
  line.bytes(Buffer.from('status: '))
  line.integer(200)
  expect(line.length).toBe(11)
  expect(line.take().toString()).toBe('status: 200')
  line.json('next')
  expect(line.take().toString()).toBe('next')
})
