import { expect, test } from 'vitest'
import { parseServer } from './servers.ts'

test.each([
  ['192.0.2.1', '192.0.2.1', 53],
  ['192.0.2.1:5353', '192.0.2.1', 5353],
  ['2001:DB8::1', '2001:db8::1', 53],
  ['[2001:db8:0:0::1]:5353', '2001:db8::1', 5353],
  ['[::1]', '::1', 53],
  ['fe80::1%eth0', 'fe80::1%eth0', 53],
])('%s is the server %s at port %i', (text, address, port) => {
  expect(parseServer(text)).toEqual({ address, port })
})

test.each(['dns.example', '192.0.2.1:0', '192.0.2.1:70000', '192.0.2.1:x', '[192.0.2.1', ''])('%o is refused by name', (text) => {
  expect(() => parseServer(text)).toThrow(`"${text}" is not a DNS server`)
})
