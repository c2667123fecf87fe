import { expect, test } from 'vitest'
import { searchedFor } from './dns-names.ts'

test.each([
  ['shop.customer', 'shop.customer'],
  ['Shop.Customer.COM', 'shop.customer.com'],
  [' https://Shop.Customer.com:8443/path?of=it#all ', 'shop.customer.com'],
  ['shop.customer.com/path', 'shop.customer.com'],
  ['BÜCH', 'büch'],
  ['bu\u0308ch', 'büch'],
  ['HTTP://Bücher.example/', 'bücher.example'],
  ['shop. customer', 'shop. customer'],
  ['192.16', '192.16'],
  ['', ''],
])('a search for "%s" finds what contains "%s"', (typed, searched) => {
  expect(searchedFor(typed)).toBe(searched)
})
