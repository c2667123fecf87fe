import { expect, test } from 'vitest'
import { FieldSection } from './field-section.ts'

const BYTES = Buffer.from('HTTP/1.1 200 OK\r\nA: 1\r\nHop: x\r\nB: \u00e9\r\nC: 3\r\n\r\nbody', 'latin1')
const A = BYTES.indexOf('A: 1')
const HOP = BYTES.indexOf('Hop')
const B = BYTES.indexOf('B: ')
const END = BYTES.indexOf('\r\nbody')
const LINES = 'A: 1\r\nB: \u00e9\r\nC: 3\r\n'

const sent = (section: FieldSection): string => {
  const sent: string[] = []
  section.sendTo({
    send: (text) => void sent.push(text),
    sendBytes: (bytes, from, end) => void sent.push(bytes.toString('latin1', from, end)),
  })
  return sent.join('')
}

test.each([
  ['lines', () => FieldSection.ofLines(LINES)],
  ['a list', () => FieldSection.ofList(['A', '1', 'B', '\u00e9', 'C', '3'])],
  ['runs of bytes', () => FieldSection.ofRuns(BYTES, [A, HOP, B, END])],
])('fields given as %s are the same as lines, as a list and where they are sent', (_as, create) => {
  expect(create().lines).toBe(LINES)
  expect(create().list).toEqual(['A', '1', 'B', '\u00e9', 'C', '3'])
  expect(sent(create())).toBe(LINES)
})

test('bytes that may be another message by now are not taken for the lines', () => {
  const asked = FieldSection.ofRuns(BYTES, [A, HOP, B, END])
  expect(asked.lines).toBe(LINES)
  asked.leaveBytes()
  expect(sent(asked)).toBe(LINES)
  const late = FieldSection.ofRuns(BYTES, [A, HOP, B, END])
  late.leaveBytes()
  expect(() => late.lines).toThrow()
  expect(() => late.list).toThrow()
  expect(() => sent(late)).toThrow()
})
