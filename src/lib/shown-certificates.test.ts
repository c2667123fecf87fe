import { expect, test } from 'vitest'
import { der } from '../../test/support/chains.ts'
import { objectionTo } from './shown-certificates.ts'

const NAMES = '551d11'
const CONSTRAINTS = '551d1e'
const KEY = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex') // on P-256, with a point of zeros
const octets = (value: Buffer) => der(0x04, value)
/** As BER allows it: a string in pieces, of which the first is empty. */
const inPieces = (value: Buffer) => der(0x24, der(0x04), der(0x04, value))
/** As BER allows it: a SEQUENCE by a tag of two bytes, and a length that looks like two empty elements. */
const longTagged = (content: Buffer) => Buffer.concat([Buffer.of(0x3f, 0x10, 0x83, 0, content.length >> 8, 0), content])
const many = (count: number, element: Buffer) => Array.from({ length: count }, () => element)
const uri = der(0x86, Buffer.from('a://b'))
const mailbox = (text: string) => der(0x81, Buffer.from(text))

function extension(id: string, value: Buffer): Buffer {
  return der(0x30, der(0x06, Buffer.from(id, 'hex')), value)
}

/** A certificate with these extensions, and without anything that nobody asks for. */
function certificate(...extensions: Buffer[]): Buffer {
  const empty = der(0x30)
  const key = Buffer.concat([KEY, Buffer.of(4), Buffer.alloc(64)])
  return der(0x30, der(0x30, der(0x02, Buffer.of(1)), empty, empty, empty, empty, key, der(0xa3, der(0x30, ...extensions))))
}

const names = (count: number, one = uri, wrap = octets) => extension(NAMES, wrap(der(0x30, ...many(count, one))))
const constraints = (count: number, one = uri, wrap = octets) =>
  extension(CONSTRAINTS, wrap(der(0x30, der(0xa1, ...many(count, der(0x30, one))))))

test('a chain of ordinary size is nothing to object to', () => {
  expect(objectionTo([certificate(names(100)), certificate(constraints(100))])).toBeUndefined()
})

test.each([
  ['names and constraints', [certificate(names(1_000)), certificate(constraints(200))], /^1000 names and 200 constraints/],
  ['names in a string that is in pieces', [certificate(names(1_000, uri, inPieces)), certificate(constraints(200))], /cannot be read/],
  ['constraints in one', [certificate(names(1_000)), certificate(constraints(200, uri, inPieces))], /cannot be read/],
  [
    'names behind a tag of two bytes',
    [
      certificate(extension(NAMES, octets(longTagged(Buffer.concat(many(1_024, der(0x86, Buffer.from('a:')))))))),
      certificate(constraints(200)),
    ],
    /cannot be read/,
  ],
  [
    'constraints that take long to spell out',
    [certificate(names(820, mailbox('@'))), certificate(constraints(120, mailbox(`xn--${'a'.repeat(120)}`)))],
    /^820 names and 120 constraints/,
  ],
  [
    'one constraint that is very long',
    [certificate(names(5_000, mailbox('@'))), certificate(constraints(1, mailbox('a'.repeat(15_000))))],
    /^5000 names/,
  ],
  ['blocks of addresses', [certificate(names(1), extension('2b06010505070107', octets(der(0x30))))], /^blocks of addresses/],
])('%s are', (_, chain, objection) => {
  expect(objectionTo(chain)).toMatch(objection)
})
