import { expect, test } from 'vitest'
import { createSealer } from './seal.ts'

const first = 'a-secret-of-at-least-32-bytes-long'
const second = 'another-secret-of-at-least-32-bytes'
const plain = Buffer.from('-----BEGIN PRIVATE KEY-----')

test('what was sealed opens to the same bytes', () => {
  const sealer = createSealer([first], 'certificate-keys')
  for (const bytes of [plain, Buffer.alloc(0), Buffer.alloc(100_000, 7)])
    expect(sealer.open(sealer.seal(bytes, 'shop.a.com'), 'shop.a.com')).toEqual(bytes)
})

test('the same value is never sealed to the same bytes', () => {
  const sealer = createSealer([first], 'certificate-keys')
  expect(sealer.seal(plain, 'shop.a.com')).not.toEqual(sealer.seal(plain, 'shop.a.com'))
  expect(sealer.seal(plain, 'shop.a.com').includes(plain)).toBe(false)
})

test('a change of any single byte is noticed', () => {
  const sealer = createSealer([first], 'certificate-keys')
  const sealed = sealer.seal(plain, 'shop.a.com')
  for (let i = 0; i < sealed.length; i++) {
    const changed = Buffer.from(sealed)
    changed[i]! ^= 1
    expect(() => sealer.open(changed, 'shop.a.com')).toThrow(/^a sealed value \(certificate-keys\)/)
  }
})

test('a sealed value that was cut, at any length, is noticed', () => {
  const sealer = createSealer([first], 'certificate-keys')
  const sealed = sealer.seal(plain, 'shop.a.com')
  for (let length = 0; length < sealed.length; length++) expect(() => sealer.open(sealed.subarray(0, length), 'shop.a.com')).toThrow()
})

test('the key of one hostname does not open as that of another', () => {
  const sealer = createSealer([first], 'certificate-keys')
  expect(() => sealer.open(sealer.seal(plain, 'shop.a.com'), 'shop.b.com')).toThrow('sealed for something other than "shop.b.com"')
})

test('what was sealed for one purpose does not open for another', () => {
  const sealed = createSealer([first], 'settings').seal(plain, 'local-ca')
  expect(() => createSealer([first], 'certificate-keys').open(sealed, 'local-ca')).toThrow('damaged')
})

test('a secret is rotated by putting the new one in front: both open, the new one seals', () => {
  const before = createSealer([first], 'settings').seal(plain, 'local-ca')
  const rotating = createSealer([second, first], 'settings')
  const after = rotating.seal(plain, 'local-ca')
  expect(rotating.open(before, 'local-ca')).toEqual(plain)
  expect(createSealer([second], 'settings').open(after, 'local-ca')).toEqual(plain)
  expect(() => createSealer([second], 'settings').open(before, 'local-ca')).toThrow('a secret that is not among those given')
})

test('every sealed value begins with its format version', () => {
  const sealer = createSealer([first], 'settings')
  const sealed = sealer.seal(plain, 'local-ca')
  expect(sealed[0]).toBe(1)
  sealed[0] = 2
  expect(() => sealer.open(sealed, 'local-ca')).toThrow('unknown format 2')
})

test('there is no sealing without a secret', () => {
  expect(() => createSealer([], 'settings')).toThrow('sealing needs a secret')
  expect(() => createSealer([''], 'settings')).toThrow('sealing needs a secret')
})
