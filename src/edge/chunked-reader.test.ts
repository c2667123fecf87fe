import { expect, test } from 'vitest'
import { ChunkedReader, Malformed } from './chunked-reader.ts'

function read(text: string): string {
  let body = ''
  const reader = new ChunkedReader({ onData: (chunk) => (body += chunk.toString('latin1')), onEnd: () => {} })
  const bytes = Buffer.from(text, 'latin1')
  for (let at: number | undefined = 0; at !== undefined && at < bytes.length && !reader.isDone; ) at = reader.step(bytes, at)
  return reader.isDone ? body : 'incomplete'
}

test.each(['', ';a', ';a=b', '; a = b', ' \t;a', ';a="b; c=\\"d\\""', ';a=b;c="";d', ';a="\u00e9"'])(
  'a chunk may have the extension %j, which means nothing to us',
  (extension) => {
    expect(read(`3${extension}\r\nabc\r\n0${extension}\r\n\r\n`)).toBe('abc')
  },
)

test.each([
  ';',
  ';;',
  ';a;',
  ';=b',
  ';a=',
  ';a b',
  ';a=b c',
  ';a="b',
  ';a="b"c',
  ';a="\\"',
  ';\u00e9',
  ',a',
  ' ',
  '\t',
  ' a',
  ';a\0',
  ';a\x0b',
])('a chunk with the extension %j is malformed, as two readers could end it in two places', (extension) => {
  expect(() => read(`3${extension}\r\nabc\r\n0\r\n\r\n`)).toThrow(Malformed)
})

test.each(['z', '3\n', '3\rx', '3 \n', '3;a\n', '12345678901234', '3\r\nabc\n', '3\r\nabcd', '3\r\nabc\rx', '3\r\nabc\r\nz', '0\r\nA\n'])(
  'what can no longer become a body in chunks is refused with its last byte, not when more has come: %j',
  (text) => {
    expect(read(text.slice(0, -1))).toBe('incomplete')
    expect(() => read(text)).toThrow(Malformed)
  },
)

test('a body that comes byte by byte is not refused before its end', () => {
  const text = 'a;b="c\\"" ;d\r\n0123456789\r\n00; e = f\r\nTrailer: value\r\n\r\n'
  for (let end = 0; end < text.length; end += 1) expect(read(text.slice(0, end))).toBe('incomplete')
  expect(read(text)).toBe('0123456789')
})

test('a long line of blanks and quotes in an extension costs no more than reading it', () => {
  const before = process.cpuUsage()
  for (const part of [' ', '"', '\\"', ';a', ' ;', '=', ';a=" ']) {
    for (const begin of ['3;a', '3;a="', '3 ', '3;a=']) expect(() => read(`${begin}${part.repeat(1_000)}\u0001\r\n`)).toThrow(Malformed)
  }
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500)
})
