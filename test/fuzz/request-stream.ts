import { mutate } from './mutations.ts'
import type { Random } from './random.ts'

/** What a visitor sends on one connection, one character a byte. */
export type RequestStream = {
  text: string
  /** Requests that were put in before anything was changed. */
  count: number
  /** Nothing was changed: every request of it has to be accepted and understood. */
  isValid: boolean
}

const MUTATED_SHARE = 0.7
const REQUESTS_MAX = 4
/** The last request of each stream, after which the connection ends. */
export const LAST_TARGET = '/last-of-the-stream'

const METHODS = ['GET', 'GET', 'POST', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'PURGE', 'PROPFIND']
const TARGETS = [
  '/',
  '/a',
  '/a?b=c&d=%20',
  '/a/b/../c',
  '/%2e%2e/x',
  '//a',
  '/a;b=c',
  '/?',
  "/!$&'()*+,;=:@~",
  '/%00%0d%0a',
  '/[a]{b}|c^d`"<e>\\',
  '/{id}',
]
const FIELDS = [
  'Accept: */*',
  'accept-language: de, en;q=0.5',
  'Cookie: a=b; c="d"',
  'Cookie: e=f',
  'X-Empty:',
  'X-Blanks: \t a b \t',
  'X-High: \xe9\xff\x80',
  `X-Long: ${'l'.repeat(300)}`,
  'x_under_score: 1',
  "!#$%&'*+-.^_`|~: token",
  'Authorization: Bearer abc',
  'If-None-Match: "x"',
  'X-Colon: a:b: c',
  'X-Line: GET / HTTP/1.1',
  'Connection: keep-alive',
  'Connection: X-Hop',
  'X-Hop: of this hop',
  'TE: trailers',
  'Keep-Alive: timeout=5',
  'X-Forwarded-For: 192.0.2.1',
  'X_Forwarded_For: 192.0.2.1',
  'X-Real-IP: 192.0.2.1',
  'Forwarded: for=192.0.2.1',
  'Via: 1.1 elsewhere',
  'Content-Type: text/plain',
]
const EXTENSIONS = ['', '', '', ';a', ';a=b', ';a="b"', ';a=b;c=d']
const TRAILERS = ['X-Sum: abc', 'X-Sum: def', 'X-Empty:', 'X-Hop: behind']

/** A few requests for the hostname and one more that ends the connection, most of the time with something changed in them. */
export function makeRequests(random: Random, hostname: string): RequestStream {
  const count = 1 + random.below(REQUESTS_MAX)
  let text = random.chance(0.05) ? '\r\n' : ''
  for (let i = 0; i < count; i += 1) text += request(random, hostname)
  const isValid = !random.chance(MUTATED_SHARE)
  if (!isValid) text = mutate(text, random)
  return { text: `${text}${lastRequest(hostname)}`, count: count + 1, isValid }
}

function lastRequest(hostname: string): string {
  return `GET ${LAST_TARGET} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`
}

function request(random: Random, hostname: string): string {
  const host = random.pick([hostname, hostname, hostname.toUpperCase(), `${hostname}:443`])
  const method = random.pick(METHODS)
  const lines = [`Host: ${host}`]
  for (let left = random.below(5); left > 0; left -= 1) lines.push(random.pick(FIELDS))
  const { framing, body } = bodyOf(random, method, hostname)
  lines.push(...framing)
  shuffle(lines, random)
  return `${method} ${targetOf(random, method, host)} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}

function targetOf(random: Random, method: string, host: string): string {
  if (method === 'OPTIONS' && random.chance(0.3)) return '*'
  if (random.chance(0.1)) return `${originOf(random, host)}${random.pick(['', '/', '/a?b', '?b'])}`
  return random.pick(TARGETS)
}

/** With https the default port is said or not, whether or not Host says it. */
function originOf(random: Random, host: string): string {
  const scheme = random.pick(['http', 'https', 'HTTP'])
  const bare = host.replace(/:443$/, '')
  return `${scheme}://${scheme === 'https' ? random.pick([bare, `${bare}:`, `${bare}:443`]) : host}`
}

/** A body is seldom expected with HEAD, OPTIONS and their like, which does not keep anybody from sending one. */
function bodyOf(random: Random, method: string, hostname: string): { framing: string[]; body: string } {
  const wanted = method === 'POST' || method === 'PUT' || method === 'PATCH' ? 0.9 : 0.15
  if (!random.chance(wanted)) return { framing: [], body: '' }
  const expects = random.chance(0.05) ? ['Expect: 100-continue'] : []
  if (random.chance(0.5)) {
    const content = contentOf(random, hostname)
    return { framing: [`${random.pick(['Content-Length', 'content-length'])}: ${content.length}`, ...expects], body: content }
  }
  return { framing: [`Transfer-Encoding: ${random.pick(['chunked', 'Chunked'])}`, ...expects], body: chunksOf(random, hostname) }
}

/** Bytes that are dangerous for a reader that has lost its place. */
function contentOf(random: Random, hostname: string): string {
  const requestInside = `GET /inside HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`
  const kinds = [
    '',
    'a',
    'abc',
    '0\r\n\r\n',
    '\r\n\r\n',
    '\0\x01\xff\n\r',
    requestInside,
    `0\r\n\r\n${requestInside}`,
    'b'.repeat(random.below(200)),
  ]
  return random.pick(kinds)
}

export function chunksOf(random: Random, hostname: string): string {
  let text = ''
  for (let left = random.below(4); left > 0; left -= 1) {
    const content = contentOf(random, hostname)
    if (content === '') continue
    const size = content.length.toString(16)
    text += `${random.pick([size, size, size.toUpperCase(), `00${size}`])}${random.pick(EXTENSIONS)}\r\n${content}\r\n`
  }
  const trailers = random.chance(0.2) ? `${random.pick(TRAILERS)}\r\n` : ''
  return `${text}0${random.pick(EXTENSIONS)}\r\n${trailers}\r\n`
}

function shuffle<T>(list: T[], random: Random): void {
  for (let i = list.length - 1; i > 0; i -= 1) {
    const j = random.below(i + 1)
    const kept = list[i]!
    list[i] = list[j]!
    list[j] = kept
  }
}
