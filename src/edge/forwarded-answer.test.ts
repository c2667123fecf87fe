import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FieldSpans, readFieldLines } from './field-lines.ts'
import { type AnswerFields, readAnswerFields, sortAnswerFields } from './forwarded-answer.ts'

const SPANS = new FieldSpans(20)
const name = fc.constantFrom(
  ...['Content-Type', 'content-length', 'Connection', 'Keep-Alive', 'Alt-Svc', 'Trailer', 'Upgrade', 'X-Own', 'x_own', 'Set-Cookie'],
  ...['Proxy-Authenticate', 'TE', 'Date', 'X-Hop'],
)
const value = fc.constantFrom(
  ...['', '5', 'close', 'Keep-Alive', 'x-hop, close', 'timeout=5, max=3', 'text/event-stream', 'text/html', 'websocket', 'a b', 'é'],
)
const line = fc.tuple(name, fc.constantFrom(': ', ':', ':  ', ':\t'), value, fc.constantFrom('', ' '))

test('fields that are copied through as they came are the ones that are passed on one by one', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
      const bytes = Buffer.from(`${lines.map((parts) => parts.join('')).join('\r\n')}${lines.length > 0 ? '\r\n' : ''}\r\nbody`, 'latin1')
      const end = readFieldLines(bytes, 0, bytes.length, SPANS) as number
      const list = SPANS.list(bytes)
      expect(seen(readAnswerFields(bytes, 0, end, SPANS))).toEqual(seen(sortAnswerFields(list)))
    }),
    { numRuns: 5_000 },
  )
})

/** With what passes as text, however it is kept. */
function seen(fields: AnswerFields) {
  return { ...fields, passing: fields.passing.lines }
}

test('a visitor gets neither what belongs to the connection nor what would lead past the edge', () => {
  const fields = sortAnswerFields([
    'Connection',
    'X-Hop, keep-alive',
    'X-Hop',
    '1',
    'Alt-Svc',
    'h3=":443"',
    'X-Own',
    '2',
    'Content-Length',
    '7',
  ])
  const keep = { keepLength: false, keepTrailer: false, keepUpgrade: false }
  expect(fields.toInterim().lines).toBe('X-Own: 2\r\n')
  expect(fields.toVisitor(keep).lines).toMatch(/^X-Own: 2\r\nDate: [^\r]* GMT\r\n$/)
  expect(fields.toVisitor({ ...keep, keepLength: true }).list).toEqual(['X-Own', '2', 'Date', expect.any(String), 'Content-Length', '7'])
})

test.each([
  ['timeout=5, max=100', 4_000],
  ['timeout=0', 1],
  ['max=100', Number.POSITIVE_INFINITY],
])('Keep-Alive: %s lets a connection rest for %d ms', (keepAlive, idleMs) => {
  expect(sortAnswerFields(['Keep-Alive', keepAlive]).idleMs).toBe(idleMs)
})
