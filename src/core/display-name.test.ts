import { expect, test } from 'vitest'
import { parseDisplayName } from './display-name.ts'

test.each([
  ['a family as one emoji', '👨‍👩‍👧 & Co'],
  ['a flag that is made of tags', '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} Shop'],
  ['Persian', 'فروشگاه می\u200cخواهم'],
  ['Sinhala', 'ශ්\u200dරී ලංකා'],
  ['a domain', 'Booking.com: Shops / Café'],
])('a name keeps what its letters need: %s', (_what, name) => {
  expect(parseDisplayName(` ${name} `)).toBe(name)
})

test.each([
  ['a link', 'Your account is blocked: https://evil.example', 'a name is no link: leave out what has :// in it'],
  ['a change of direction', 'moc.live\u202e', 'a name has no invisible characters: type it anew'],
  ['an isolated direction', 'a\u2066b', 'a name has no invisible characters: type it anew'],
  ['a joiner between Latin letters', 'Ac\u200dme', 'a name has no invisible characters: type it anew'],
  ['a separator of lines', 'Shop\u2028Your mailbox is locked', 'a name is one line'],
  ['a separator of paragraphs', 'Shop\u2029Your mailbox is locked', 'a name is one line'],
  ['only a zero-width space', '\u200b', 'a name has characters that can be seen'],
  ['only a filler', '\u3164', 'a name has characters that can be seen'],
])('a name hides nothing and leads nowhere: %s', (_what, name, message) => {
  expect(() => parseDisplayName(name)).toThrow(expect.objectContaining({ code: 'name_invalid', message }))
})
