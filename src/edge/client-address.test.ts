import { expect, test } from 'vitest'
import { createAddressSet } from '../lib/addresses.ts'
import { clientAddress } from './client-address.ts'
import { forwardedLines, sortRequestFields } from './forwarded-request.ts'

const trusted = createAddressSet(['10.0.0.0/8', '2001:db8::/32'])

test.each([
  ['a stranger is who connected, whatever it says', '192.0.2.1', '203.0.113.9', '192.0.2.1'],
  ['a trusted proxy is believed', '10.0.0.1', '192.0.2.7', '192.0.2.7'],
  ['the rightmost address that is not a proxy counts', '10.0.0.1', '198.51.100.1, 192.0.2.7, 10.0.0.2', '192.0.2.7'],
  ['a trusted proxy that says nothing is the client', '10.0.0.1', '', '10.0.0.1'],
  ['nothing is believed left of rubbish', '10.0.0.1', '192.0.2.7, rubbish, 10.0.0.2', '10.0.0.2'],
  ['all trusted: the leftmost', '10.0.0.1', '10.0.0.3, 2001:db8::1', '10.0.0.3'],
  ['IPv4-mapped is IPv4', '10.0.0.1', '::ffff:192.0.2.7', '192.0.2.7'],
])('%s', (_name, peer, forwardedFor, client) => {
  expect(clientAddress(peer, forwardedFor, trusted)).toBe(client)
})

function headOf(fields: string[], isTrusted: boolean): string {
  const sorted = sortRequestFields(fields)
  const lines = forwardedLines(sorted, { peer: '10.0.0.1', isTrusted })
  return lines.with('shop.customer.com', sorted.requestId ?? 'ours')
}

test('what a trusted proxy says of the visitor is passed on, with itself added', () => {
  const head = headOf(
    [
      'X-Forwarded-For',
      '192.0.2.7',
      'X-Real-IP',
      '192.0.2.7',
      'Forwarded',
      'for=192.0.2.7',
      'X-Request-Id',
      'theirs-1',
      'X_Real_IP',
      '1.1.1.1',
    ],
    true,
  )
  expect(head).toContain('X-Forwarded-For: 192.0.2.7, 10.0.0.1\r\n')
  expect(head).toContain('X-Real-IP: 192.0.2.7\r\n')
  expect(head).toContain('Forwarded: for=192.0.2.7\r\n')
  expect(head).toContain('X-Request-Id: theirs-1\r\n')
  expect(head).not.toContain('1.1.1.1')
})

test.each([
  ...['X-Forwarded-Ssl', 'X-Forwarded-Scheme', 'X-Forwarded-Server', 'X-Forwarded-Prefix', 'X-Url-Scheme', 'Front-End-Https'],
  ...['Client-IP', 'X-Client-IP', 'X-Cluster-Client-IP', 'True-Client-IP', 'X-Original-URL', 'X-Rewrite-URL'],
])('only a trusted proxy may say %s', (name) => {
  expect(headOf([name, 'evil'], true)).toContain(`${name}: evil\r\n`)
  expect(headOf([name, 'evil'], false)).not.toContain('evil')
  expect(headOf([name.replaceAll('-', '_'), 'evil'], true)).not.toContain('evil')
})

test('nobody’s Proxy field goes on, which programs started by CGI would obey', () => {
  expect(headOf(['Proxy', 'http://evil.example'], true)).not.toContain('evil')
})

test('a request id that is no plain word is replaced, even a trusted proxy’s', () => {
  expect(headOf(['X-Request-Id', 'a b"}'], true)).toContain('X-Request-Id: ours\r\n')
})
