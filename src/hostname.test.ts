import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as portal from '../portal/unicode-name.ts'
import {
  inBothForms,
  isPlainHostname,
  parseClaimName,
  parseHostname,
  readHostname,
  unicodeOf,
  wildcardOver,
  withoutStar,
} from './hostname.ts'

test.each([
  ['shop.customer.com', 'shop.customer.com'],
  ['SHOP.Customer.COM', 'shop.customer.com'],
  ['shop.customer.com.', 'shop.customer.com'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['faß.de', 'xn--fa-hia.de'],
  ['Ａ.example.com', 'a.example.com'],
  ['shop。customer.com', 'shop.customer.com'],
  ['hello.localhost', 'hello.localhost'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ['XN--E1AFMKFD.xn--p1ai', 'xn--e1afmkfd.xn--p1ai'],
  [`${'a'.repeat(63)}.com`, `${'a'.repeat(63)}.com`],
])('%s is the hostname %s', (text, hostname) => {
  expect(parseHostname(text)).toBe(hostname)
})

test.each([
  ['xn--bcher-kva.example', 'bücher.example'],
  ['*.xn--e1afmkfd.xn--p1ai', '*.пример.рф'],
  ['_acme-challenge.xn--pple-43d.com', '_acme-challenge.аpple.com'], // with a Cyrillic а
  ['shop.customer.com', undefined],
  ['xn--zzzzzz.customer.com', undefined],
])('%s is shown to people with %s beside it, here and in the portal', (name, unicode) => {
  for (const shown of [{ unicodeOf, inBothForms }, portal]) {
    expect(shown.unicodeOf(name)).toBe(unicode)
    expect(shown.inBothForms(name)).toBe(unicode === undefined ? name : `${name} (${unicode})`)
  }
})

test.each([
  ['ada@mail.xn--bcher-kva.example', 'ada@mail.xn--bcher-kva.example (mail.bücher.example)'],
  ['ada@vendor.com', 'ada@vendor.com'],
])('the address %s is shown as %s, here and in the portal', (address, shown) => {
  expect([inBothForms(address), portal.inBothForms(address)]).toEqual([shown, shown])
})

test.each([
  ['', /required/],
  ['localhost', /one label/],
  ['com.', /one label/],
  ['192.0.2.1', /IP address/],
  ['::1', /IP address/],
  ['[2001:db8::1]', /IP address/],
  ['1.2.3', /number/],
  ['shop.0x7f', /number/],
  ['1.0x', /number/],
  ['foo_bar.example.com', /underscore/],
  ['a..example.com', /empty label/],
  ['.example.com', /empty label/],
  ['example.com..', /empty label/],
  [`${'a'.repeat(64)}.com`, /at most 63/],
  [`${'a.'.repeat(130)}com`, /at most 253/],
  ['example.com:443', /port/],
  ['https://example.com', /URL/],
  ['example.com/path', /path/],
  ['user@example.com', /path|URL/],
  ['-a.example.com', /hyphen/],
  ['a-.example.com', /hyphen/],
  ['ab--cd.example.com', /^a part between dots has no hyphens as its third and fourth character.*"ab--cd"$/],
  ['xn--a.example.com', /punycode/],
  ['xn--zzzzzz.example.com', /punycode/],
  ['xn--a-ecp.example.com', /punycode/],
  ['a b.example.com', /spaces/],
  [' example.com', /spaces/],
  ['example.com\n', /spaces/],
  ['exa\u0000mple.com', /control/],
  ['a%2eb.example.com', /percent/],
  ['ex!ample.com', /letters, digits and hyphens/],
])('%j is refused with a reason', (text, reason) => {
  expect(() => parseHostname(text)).toThrow(expect.objectContaining({ code: 'hostname_invalid', message: expect.stringMatching(reason) }))
})

test.each(['*.example.com', '*', 'a.*.example.com', '*.*.example.com', 'shop*.example.com', '%2a.example.com'])(
  '%s is no name that a visitor can bring',
  (text) => {
    expect(readHostname(text)).toMatchObject({ kind: 'invalid' })
    expect(() => parseHostname(text)).toThrow(expect.objectContaining({ code: 'hostname_invalid' }))
  },
)

test.each([
  ['*.customer.com', '*.customer.com'],
  ['*.Shop.BÜCHER.example.', '*.shop.xn--bcher-kva.example'],
  ['shop.customer.com', 'shop.customer.com'],
])('%s can be claimed, as %s', (text, name) => {
  expect(parseClaimName(text)).toBe(name)
})

const longest = `${'a.'.repeat(124)}abc` // 251 characters
test.each([
  ['*', /star/],
  ['*.', /hostname is required/],
  ['*.com', /only one label/],
  ['*.*.customer.com', /star stands only for the whole first label/],
  ['shop.*.customer.com', /star stands only for the whole first label/],
  ['shop*.customer.com', /star stands only for the whole first label/],
  ['*shop.customer.com', /star stands only for the whole first label/],
  ['*.1.2.3.4', /IP address/],
  ['*.customer.com:443', /port/],
  ['*.-.customer.com', /hyphen/],
  [`*.a${longest}`, /at most 253 characters, this one has 254/],
])('%s is no name of a claim, and the reason says why', (text, reason) => {
  expect(() => parseClaimName(text)).toThrow(expect.objectContaining({ code: 'hostname_invalid', message: expect.stringMatching(reason) }))
})

test('a wildcard covers exactly one label', () => {
  const wildcard = parseClaimName('*.customer.com')
  expect(wildcardOver(parseHostname('shop.customer.com'))).toBe(wildcard)
  expect(wildcardOver(parseHostname('a.shop.customer.com'))).not.toBe(wildcard)
  expect(wildcardOver(parseHostname('customer.com'))).not.toBe(wildcard)
  expect(wildcardOver(wildcard)).toBe(wildcard)
  expect(withoutStar(wildcard)).toBe('customer.com')
  expect(parseClaimName(`*.${longest}`)).toHaveLength(253)
})

test('whatever comes in, a hostname is plain, short, lower case, and reads as itself', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.domain(), fc.webUrl()), (text) => {
      const reading = readHostname(text)
      if (reading.kind === 'invalid') return reading.reason.length > 0
      return /^[a-z0-9.-]{3,253}$/.test(reading.hostname) && parseHostname(reading.hostname) === reading.hostname
    }),
    { numRuns: 2_000 },
  )
})

test('what is taken as it stands is what the closer look would take, and nothing else but names that need one', () => {
  const label = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'z', '0', '9', '-', '.'), maxLength: 6 }),
    fc.constantFrom('', '-', 'a'.repeat(62), 'a'.repeat(63), 'a'.repeat(64), 'a-b', '_', 'é', '*', '`', '{', '/', ':'),
  )
  const name = fc.array(label, { minLength: 1, maxLength: 6 }).map((labels) => labels.join('.'))
  fc.assert(
    fc.property(name, (text) => {
      const closer = readHostname(text.toUpperCase()) // which is never taken as it stands, and is the same name
      const isSame = closer.kind === 'hostname' && closer.hostname === text
      const needsCloserLook = text.includes('--') || /(?:^|\.)[^a-z][^.]*$/.test(text) || !/[a-z]/.test(text)
      expect(isPlainHostname(text)).toBe(isSame && !needsCloserLook)
    }),
    { numRuns: 5_000 },
  )
})
