import type { Random } from './random.ts'

type Mutation = (text: string, random: Random) => string

const BYTES = [
  '\r',
  '\n',
  '\0',
  '\t',
  ' ',
  '\x0b',
  '\x0c',
  '\x7f',
  '\x80',
  '\xa0',
  '\xff',
  ':',
  ',',
  ';',
  '"',
  '\\',
  '+',
  '-',
  '_',
  '0',
  '9',
  'a',
  'x',
]
const LINE_ENDS = ['\n', '\r', '\r\r\n', '\n\r', '\r\n\r\n', '\r\n ', '\r\n\t', ' \r\n', '\0\r\n', '']

/** Lines that have led two readers apart before: a request's or an answer's framing, said twice, said otherwise, or half hidden. */
const LINES = [
  'Content-Length: 5',
  'Content-Length: 0',
  'Content-Length: +5',
  'Content-Length: -1',
  'Content-Length: 05',
  'Content-Length: 5 ',
  'Content-Length:5',
  'Content-Length: 5, 5',
  'Content-Length: 5,6',
  'Content-Length: 0x5',
  'Content-Length: 5e0',
  'Content-Length:',
  'Content-Length: 18446744073709551621',
  'Content-Length : 5',
  ' Content-Length: 5',
  'Content_Length: 5',
  'Content-Length\x0b: 5',
  'Transfer-Encoding: chunked',
  'transfer-encoding: Chunked',
  'Transfer-Encoding : chunked',
  ' Transfer-Encoding: chunked',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding:\x0bchunked',
  'Transfer-Encoding: chunked\x0b',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: identity, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding:',
  'Transfer-Encoding: ,chunked',
  'Transfer_Encoding: chunked',
  'X: y\r\nTransfer-Encoding: chunked',
  'X: y\nTransfer-Encoding: chunked',
  'X: y\rTransfer-Encoding: chunked',
  'Transfer-Encoding:\r\n chunked',
  'Host: other.example',
  'Host:',
  'host : other.example',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: Content-Length',
  'Connection: Host, Transfer-Encoding',
  'Connection: close, X-A',
  'Expect: 100-continue',
  'Expect: 100-Continue, x',
  'Upgrade: websocket\r\nConnection: upgrade',
  'Upgrade: h2c\r\nConnection: upgrade',
  'Trailer: Content-Length',
  'TE: trailers\r\nConnection: TE',
  'Keep-Alive: timeout=1',
  'Proxy-Connection: close',
  'X-Forwarded-For: 192.0.2.7',
  'GET /second HTTP/1.1',
  ':',
  ': x',
  'X',
  'X:',
  '',
]

const MUTATIONS: readonly Mutation[] = [
  (text, random) => splice(text, random.below(text.length + 1), 0, random.pick(BYTES)),
  (text, random) => splice(text, random.below(text.length + 1), 0, random.pick(BYTES)),
  (text, random) => splice(text, random.below(text.length), 1, random.pick(BYTES)),
  (text, random) => splice(text, random.below(text.length), 1 + random.below(4), ''),
  (text, random) => atLineEnd(text, random, (at) => splice(text, at, 2, random.pick(LINE_ENDS))),
  (text, random) => atLineEnd(text, random, (at) => splice(text, at + 2, 0, `${random.pick(LINES)}\r\n`)),
  (text, random) => atLineEnd(text, random, (at) => splice(text, at + 2, 0, `${random.pick(LINES)}\r\n`)),
  (text, random) => atLineEnd(text, random, (at) => splice(text, at + 2, 0, `${random.pick(LINES)}${random.pick(LINE_ENDS)}`)),
  aroundColon,
  changeNumber,
  changeCase,
  doubleLine,
  dropLine,
  swapPieces,
  (text, random) => text.slice(0, random.below(text.length + 1)),
]

/** The text, one character a byte, after a few changes of the kinds that have deceived readers of HTTP before. */
export function mutate(text: string, random: Random): string {
  let mutated = text
  for (let left = 1 + random.below(3); left > 0 && mutated !== ''; left -= 1) mutated = random.pick(MUTATIONS)(mutated, random)
  return mutated
}

function splice(text: string, at: number, count: number, insert: string): string {
  return text.slice(0, at) + insert + text.slice(at + count)
}

function lineEnds(text: string): number[] {
  return [...text.matchAll(/\r\n/g)].map(({ index }) => index)
}

function atLineEnd(text: string, random: Random, change: (at: number) => string): string {
  const ends = lineEnds(text)
  return ends.length === 0 ? text : change(random.pick(ends))
}

function aroundColon(text: string, random: Random): string {
  const colons = [...text.matchAll(/:/g)].map(({ index }) => index)
  if (colons.length === 0) return text
  const at = random.pick(colons)
  return random.chance(0.5) ? splice(text, at, 0, random.pick(BYTES)) : splice(text, at + 1, 0, random.pick(BYTES))
}

function changeNumber(text: string, random: Random): string {
  const numbers = [...text.matchAll(/[0-9a-f]+(?=\r\n|;)/gi)]
  if (numbers.length === 0) return text
  const { index, 0: digits } = random.pick(numbers)
  const value = Number.parseInt(digits, 16)
  const others = [`0${digits}`, `+${digits}`, `0x${digits}`, `${digits} `, ` ${digits}`, `${digits}\t`, `${digits};`, `${digits},${digits}`]
  const near = [value + 1, Math.max(0, value - 1), value * 2, 0].map((number) => number.toString(16))
  return splice(text, index, digits.length, random.pick([...others, ...near, 'ffffffffffffffff', `${digits}0`, '']))
}

function changeCase(text: string, random: Random): string {
  const at = random.below(text.length)
  const character = text[at]!
  return splice(text, at, 1, character === character.toLowerCase() ? character.toUpperCase() : character.toLowerCase())
}

function pickLine(text: string, random: Random): { from: number; end: number } | undefined {
  const ends = lineEnds(text)
  if (ends.length === 0) return undefined
  const place = random.below(ends.length)
  return { from: place === 0 ? 0 : ends[place - 1]! + 2, end: ends[place]! + 2 }
}

function doubleLine(text: string, random: Random): string {
  const line = pickLine(text, random)
  return line ? splice(text, line.end, 0, text.slice(line.from, line.end)) : text
}

function dropLine(text: string, random: Random): string {
  const line = pickLine(text, random)
  return line ? splice(text, line.from, line.end - line.from, '') : text
}

function swapPieces(text: string, random: Random): string {
  const [a = 0, b = 0, c = 0] = [random.below(text.length), random.below(text.length), random.below(text.length)].sort((x, y) => x - y)
  return text.slice(0, a) + text.slice(b, c) + text.slice(a, b) + text.slice(c)
}
