import { expect, test } from 'vitest'
import { addressKey, createAddressSet, isSpecialAddress } from './addresses.ts'

test.each([
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'the rest of loopback'],
  ['10.1.2.3', 'private'],
  ['172.31.255.255', 'private'],
  ['192.168.0.1', 'private'],
  ['169.254.169.254', 'the metadata service'],
  ['100.64.0.1', 'CGNAT'],
  ['0.0.0.0', 'unspecified'],
  ['255.255.255.255', 'broadcast'],
  ['224.0.0.1', 'multicast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['[::1]', 'loopback in brackets'],
  ['::ffff:127.0.0.1', 'mapped loopback'],
  ['::ffff:7f00:1', 'mapped loopback in hexadecimal'],
  ['0:0:0:0:0:ffff:a00:1', 'mapped private, written out'],
  ['::127.0.0.1', 'IPv4-compatible'],
  ['64:ff9b::7f00:1', 'NAT64'],
  ['2002:7f00:1::', '6to4'],
  ['fe80::1%eth0', 'link-local with a zone'],
  ['fd00:ec2::254', 'IPv6 metadata service'],
  ['fc00::1', 'unique local'],
  ['not an address', 'no address'],
  ['', 'nothing'],
])('%s is special: %s', (address) => {
  expect(isSpecialAddress(address)).toBe(true)
})

test.each(['1.1.1.1', '8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:8.8.8.8', '2a00:1450::1'])(
  '%s is public',
  (address) => {
    expect(isSpecialAddress(address)).toBe(false)
  },
)

test('a set holds addresses and blocks, and sees through IPv4-mapped addresses', () => {
  const set = createAddressSet(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32'])
  expect(set.has('10.255.0.1')).toBe(true)
  expect(set.has('::ffff:10.0.0.1')).toBe(true)
  expect(set.has('192.0.2.7')).toBe(true)
  expect(set.has('192.0.2.8')).toBe(false)
  expect(set.has('2001:db8::1')).toBe(true)
  expect(set.has('garbage')).toBe(false)
})

test('an entry that is no address is refused by name', () => {
  expect(() => createAddressSet(['10.0.0.0/33'])).toThrow('10.0.0.0/33')
  expect(() => createAddressSet(['example.com'])).toThrow('example.com')
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s counts as %s', (address, key) => {
  expect(addressKey(address)).toBe(key)
})
