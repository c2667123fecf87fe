import { expect, test } from 'vitest'
import { mailboxOf } from './email-address.ts'

test.each([
  ['ada@vendor.test', 'ada@vendor.test'],
  ['ada+shop@vendor.test', 'ada@vendor.test'],
  ['ada+a+b@vendor.test', 'ada@vendor.test'],
  ['+ada@vendor.test', '+ada@vendor.test'],
])('the mail for %s arrives with %s', (address, mailbox) => {
  expect(mailboxOf(address)).toBe(mailbox)
})
