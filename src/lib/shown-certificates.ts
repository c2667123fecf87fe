import { type Element, elementsOf } from './der.ts'

/** Public authorities need two or three; some servers show the root, and what former visitors needed, too. */
const CERTIFICATES_MAX = 10
/** Chains of today have 3 to 8 KB. */
const CHAIN_BYTES_MAX = 32 * 1024
const RSA_BYTES_MAX = 1_024
/** For all but a few keys it is 65,537; one as long as its modulus makes a signature cost a hundred times as much. */
const EXPONENT_BYTES_MAX = 8
/** Each name of a chain is compared with each constraint of those above it: a quarter of a microsecond. */
const COMPARISONS_MAX = 100_000
/** Some of these comparisons take as long as the constraint is, as where it has to be spelled out first (RFC 9598). */
const COMPARED_BYTES_MAX = 2_000_000

const NAMES = '551d11' // subjectAltName, 2.5.29.17
const CONSTRAINTS = '551d1e' // nameConstraints, 2.5.29.30
/** Of addresses (RFC 3779), which no server's certificate has: each block is looked for among all of those above. */
const BLOCKS = ['2b06010505070107', '2b06010505070108']
const RSA = ['2a864886f70d010101', '2a864886f70d01010a'] // the second for PSS alone
const EC = '2a8648ce3d0201'
/** Ed25519 and Ed448, ML-DSA and SLH-DSA. */
const KEYS_OF_ONE_SIZE = /^(?:2b657[01]|60864801650304031[1-9a-f])$/
const OBJECT_ID = 0x06
const VERSION = 0xa0
const EXTENSIONS = 0xa3

/**
 * Why a chain of certificates (DER) is not to be given to OpenSSL, or undefined. It reckons with all that it is shown before anybody asks whose
 * certificate it is: 100 KB of names, and of constraints for names, are half a minute in which the event loop stands still.
 */
export function objectionTo(chain: readonly Buffer[]): string | undefined {
  if (chain.length > CERTIFICATES_MAX) return `${chain.length} certificates`
  const bytes = chain.reduce((sum, { length }) => sum + length, 0)
  if (bytes > CHAIN_BYTES_MAX) return `certificates of ${bytes} bytes`
  try {
    const parts = chain.map(partsOf)
    if (!parts.every(({ key }) => isModest(key))) return 'a key of an unusual kind or size'
    const sumOf = (counts: number[]) => counts.reduce((sum, count) => sum + count, 0)
    const names = sumOf(parts.map(({ subject, extensions }) => countBelow(subject) + sumOf(valuesOf(extensions, NAMES).map(countIn))))
    const constrained = parts.flatMap(({ extensions }) => valuesOf(extensions, CONSTRAINTS))
    const constraints = sumOf(constrained.map((value) => countBelow(inside(value))))
    const constraintBytes = sumOf(constrained.map(({ length }) => length))
    if (names * constraints > COMPARISONS_MAX || names * constraintBytes > COMPARED_BYTES_MAX)
      return `${names} names and ${constraints} constraints for them`
    return parts.some(({ extensions }) => BLOCKS.some((block) => valuesOf(extensions, block).length > 0))
      ? 'blocks of addresses'
      : undefined
  } catch {
    return 'certificates that cannot be read'
  }
}

/** What of a certificate decides what it costs (RFC 5280 §4.1). */
function partsOf(certificate: Buffer): { subject: Buffer; key: Element[]; extensions: Element[] } {
  const fields = elementsOf(inside(inside(certificate)))
  if (fields[0]!.tag === VERSION) fields.shift()
  const [, , , , subject, key] = fields
  const extensions = fields.find(({ tag }) => tag === EXTENSIONS)
  return { subject: subject!.content, key: elementsOf(key!.content), extensions: extensions ? elementsOf(inside(extensions.content)) : [] }
}

/** The key's own cost: of RSA and of curves it is the sender's choice. */
function isModest([algorithm, bits]: Element[]): boolean {
  const [kind, parameters] = elementsOf(algorithm!.content)
  const name = kind!.content.toString('hex')
  if (name === EC) return parameters?.tag === OBJECT_ID // a curve with a name
  if (!RSA.includes(name)) return KEYS_OF_ONE_SIZE.test(name)
  const [modulus, exponent] = elementsOf(inside(bits!.content.subarray(1)))
  return modulus!.content.length <= RSA_BYTES_MAX + 1 && exponent!.content.length <= EXPONENT_BYTES_MAX + 1
}

function valuesOf(extensions: Element[], name: string): Buffer[] {
  return extensions
    .map(({ content }) => elementsOf(content))
    .filter(([id]) => id!.content.toString('hex') === name)
    .map((parts) => parts.at(-1)!.content)
}

/** The content of the first element. */
function inside(bytes: Buffer): Buffer {
  return elementsOf(bytes)[0]!.content
}

/** How many elements the one that the bytes are has. */
function countIn(bytes: Buffer): number {
  return elementsOf(inside(bytes)).length
}

/** How many the elements of the bytes have together. */
function countBelow(bytes: Buffer): number {
  return elementsOf(bytes).reduce((sum, { content }) => sum + elementsOf(content).length, 0)
}
