import { expect, test } from 'vitest'
import { halfSipHash, randomHashKey } from './half-sip-hash.ts'

test('what the Linux kernel’s tests of HalfSipHash-1-3 say of the bytes 0, 1, 2, … under the key 0, 1, … 7', () => {
  const expected = [0x5814c896, 0xe7e864ca, 0xbc4b0e30, 0x01539939, 0x7e059ea6, 0x88e3d89b, 0xa0080b65, 0x9d38d9d6]
  const text = '\0\x01\x02\x03\x04\x05\x06\x07'
  expect(expected.map((_, length) => halfSipHash(text.slice(0, length), [0x03020100, 0x07060504]))).toEqual(expected)
})

test('strings that meet under one key do not under another', () => {
  const names = Array.from({ length: 300_000 }, (_, n) => `shop-${n}.customer.example`)
  const meetings = (hashes: number[]) => hashes.length - new Set(hashes).size
  const [one, other] = [randomHashKey(), randomHashKey()]
  const byHash = new Map<number, string[]>()
  for (const name of names) byHash.set(halfSipHash(name, one), [...(byHash.get(halfSipHash(name, one)) ?? []), name])
  const met = [...byHash.values()].filter(({ length }) => length > 1).flat()
  expect(met.length).toBeLessThan(100) // some 20 by chance
  expect(meetings(met.map((name) => halfSipHash(name, other)))).toBe(0)
})
