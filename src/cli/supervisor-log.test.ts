import { expect, test } from 'vitest'
import { shorten } from './supervisor-log.ts'

/** Clears the screen, names the window, ends the line: CSI, OSC, ST and NEL in one character each, and CSI in two. */
const OBEYED = '\u009b2J\u009d0;owned\u009c\u0085\u001b[2J'
const TIME = '2026-12-31T23:59:58.007Z'

/** Without the styles that are ours. */
function shortened(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ESC begins a style
  return shorten(line).replace(/\u001b\[\d+m/g, '')
}

test('an event is one line for a person: when, who, what, and the rest', () => {
  const event = {
    level: 'info',
    time: TIME,
    pid: 7,
    name: 'edge',
    hostname: 'shop.customer.com',
    path: '/a b',
    status: 200,
    msg: 'request',
  }
  expect(shortened(JSON.stringify(event))).toBe('23:59:58 edge       request hostname=shop.customer.com path="/a b" status=200')
})

test.each([
  ['a path', { path: `/c1${OBEYED}next` }],
  ['an error', { err: { message: OBEYED } }],
  ['a list', { names: [OBEYED] }],
  ['the name of a field', { [OBEYED]: 1 }],
  ['a message', { msg: OBEYED }],
  ['who says it', { name: OBEYED }],
])('a terminal obeys nothing of a stranger in %s', (_, fields) => {
  expect(shortened(JSON.stringify({ level: 'info', time: TIME, name: 'edge', msg: 'request', ...fields }))).not.toMatch(/\p{Cc}/u)
})

test('nor of one in what is no event', () => expect(shortened(`at\tx ${OBEYED}\n`)).toBe('at x ?2J?0;owned???[2J'))
