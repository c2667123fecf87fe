import { expect, test } from 'vitest'
import { layOut, rawMember } from './raw-json.ts'

const RAW = String.raw`{"z":1.50,"a":{"b":[],"c":[1e3,{"d":"}, \" ]"}]},"1":{}}`

test('a member comes back as it was sent, whatever stands around and inside it', () => {
  expect(rawMember(`{"verified":true,"other":{"metadata":1},"metadata":${RAW},"dns":{"state":"x"}}`, 'metadata')).toBe(RAW)
  expect(rawMember(`{ "metadata" : ${RAW} }`, 'metadata')).toBe(RAW)
  expect(rawMember('{"a":{"metadata":1}}', 'metadata')).toBeUndefined()
})

test('layout changes blanks alone: as JSON.stringify lays out, with numbers and keys as they were', () => {
  const value = { a: { b: [], c: [1, { d: '}, " ]' }] }, e: {}, f: null }
  expect(layOut(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2))
  expect(layOut('{"z":1.50,"1":1e3}')).toBe('{\n  "z": 1.50,\n  "1": 1e3\n}')
})
