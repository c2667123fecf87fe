/** The code of RFC 7541, appendix B. It is canonical, so the length of each symbol's code says all: 256 bytes, then the end of the string. */
// biome-ignore format: a table
export const CODE_LENGTHS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
]
const END_OF_STRING = 256

/** The code of each symbol, right-aligned. */
export function codesOf(lengths: readonly number[]): number[] {
  const symbols = lengths.map((_, symbol) => symbol).sort((a, b) => lengths[a]! - lengths[b]! || a - b)
  const codes: number[] = []
  let code = 0
  let length = 0
  for (const symbol of symbols) {
    code *= 2 ** (lengths[symbol]! - length)
    length = lengths[symbol]!
    codes[symbol] = code
    code += 1
  }
  return codes
}

// A step takes four bits. Its entry holds the next state from bit 10 on, whether a byte was completed, whether no such code exists, and the byte.
const NEXT_SHIFT = 10
const COMPLETES = 512
const FAILS = 256

type Machine = { steps: Int32Array; mayEnd: Uint8Array }
type Node = { children: [Node | undefined, Node | undefined]; symbol: number | undefined; state: number }

const { steps, mayEnd } = buildMachine()

/** Decodes what lies from `start` to `end` into `into`, at most 8/5 of its size; returns how many bytes, or -1 when it is no such code. */
export function decodeHuffman(bytes: Buffer, start: number, end: number, into: Buffer): number {
  let state = 0
  let count = 0
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]!
    let step = steps[(state << 4) | (byte >> 4)]!
    if (step & FAILS) return -1
    if (step & COMPLETES) into[count++] = step & 255
    step = steps[((step >> NEXT_SHIFT) << 4) | (byte & 15)]!
    if (step & FAILS) return -1
    if (step & COMPLETES) into[count++] = step & 255
    state = step >> NEXT_SHIFT
  }
  return mayEnd[state] ? count : -1
}

function buildMachine(): Machine {
  const inner: Node[] = []
  const root = growTree(inner)
  const built = { steps: new Int32Array(inner.length * 16), mayEnd: new Uint8Array(inner.length) }
  for (const node of inner) for (let bits = 0; bits < 16; bits += 1) built.steps[node.state * 16 + bits] = stepFrom(node, root, bits)
  // Only ones, and fewer than eight, may fill the last byte.
  let node = root
  for (let ones = 0; ones < 8; ones += 1) {
    built.mayEnd[node.state] = 1
    node = node.children[1]!
  }
  return built
}

function growTree(inner: Node[]): Node {
  const add = (): Node => {
    const node: Node = { children: [undefined, undefined], symbol: undefined, state: inner.length }
    inner.push(node)
    return node
  }
  const root = add()
  codesOf(CODE_LENGTHS).forEach((code, symbol) => {
    let node = root
    for (let bit = CODE_LENGTHS[symbol]! - 1; bit > 0; bit -= 1) {
      const side = (code >>> bit) & 1
      node = node.children[side] ??= add()
    }
    node.children[code & 1] = { children: [undefined, undefined], symbol, state: 0 }
  })
  return root
}

function stepFrom(from: Node, root: Node, bits: number): number {
  let node = from
  let completed = 0
  for (let bit = 3; bit >= 0; bit -= 1) {
    const next = node.children[(bits >> bit) & 1]
    if (!next || next.symbol === END_OF_STRING) return FAILS
    if (next.symbol === undefined) node = next
    else {
      completed = COMPLETES | next.symbol
      node = root
    }
  }
  return (node.state << NEXT_SHIFT) | completed
}
