import { expect, test } from 'vitest'
import { asStored, mailboxOf, parseEmailAddress } from './email-address.ts'

test.each([
  ['ada@vendor.test', 'ada@vendor.test'],
  ['ada+shop@vendor.test', 'ada@vendor.test'],
  ['ada+a+b@vendor.test', 'ada@vendor.test'],
  ['+ada@vendor.test', '+ada@vendor.test'],
  ['ada@bücher.test', 'ada@xn--bcher-kva.test'],
  ['ａda＋x@vendor.test', 'ada@vendor.test'],
  ['cafe\u0301@vendor.test', 'café@vendor.test'],
])('the mail for %s arrives with %s', (address, mailbox) => {
  expect(mailboxOf(parseEmailAddress(address))).toBe(mailbox)
})

test('an address is one in both forms of its domain', () => {
  expect(parseEmailAddress(' Ada@Bücher.test ')).toBe('ada@xn--bcher-kva.test')
  expect(parseEmailAddress('ada@XN--bcher-kva.test')).toBe('ada@xn--bcher-kva.test')
  expect(asStored('ada+x@bücher.test')).toBe('ada+x@xn--bcher-kva.test')
  expect(asStored('ada@xn--a.test')).toBe('ada@xn--a.test') // which the DNS does not have
})

test.each([
  ['full-width letters', 'ada@ｖendor.test', 'write the domain of this e-mail address as vendor.test'],
  ['an ideographic full stop', 'ada@mail。vendor.test', 'write the domain of this e-mail address as mail.vendor.test'],
  ['a zero-width space', 'ada@ven\u200bdor.test', 'write the domain of this e-mail address as vendor.test'],
  ['a soft hyphen', 'ada@ven\u00addor.test', 'write the domain of this e-mail address as vendor.test'],
  ['letters in pieces', 'ada@bu\u0308cher.test', 'write the domain of this e-mail address as bücher.test'],
  ['an address in hexadecimal', 'ada@0x7f.1', 'an e-mail address looks like ada@vendor.com'],
  ['a path', 'ada@vendor.test/x', 'an e-mail address looks like ada@vendor.com'],
  ['a zero-width space in front of the @', 'a\u200bda@vendor.test', 'an e-mail address has no invisible characters: type it anew'],
  ['a change of direction', 'ad\u202ea@vendor.test', 'an e-mail address has no invisible characters: type it anew'],
])('no second spelling of one mailbox: %s', (_what, address, message) => {
  expect(() => parseEmailAddress(address)).toThrow(expect.objectContaining({ code: 'email_invalid', message }))
})
