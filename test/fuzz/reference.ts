import {
  type FoundRequest,
  messageEndsByLlhttp,
  type ReadAnswer,
  type Reading,
  readAnswersByLlhttp,
  readRequestsByLlhttp,
  UNSAID,
} from './llhttp.ts'

/** A request as llhttp reads it. `isBeyondNode`: node:http would refuse it for what it asks, and not for how it is framed. */
export type ReferenceRequest = FoundRequest & { isBeyondNode: boolean }

/** What was said in other words, of the request in that place. */
type Rewrite = { index: number; method?: string; target?: string }

const KNOWN_METHOD = 'GET'
const REWRITES_MAX = 12
const REQUEST_LINE = /^(?:\r\n)*([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~\x80-\xff]+) HTTP\/1\.[01]\r\n/
const TAB_BEHIND_VALUE = /(\r\n(?:transfer-encoding|content-length):)([ \t]*(?:chunked|\d+))([ \t]*\t[ \t]*)(?=\r|$)/gi
const PROXY_CONNECTION = /(\r\nproxy-connection:)[^\r\n]+/gi
const LAST_CHUNK_AND_TRAILERS = /\r\n0+(?:;[^\r\n]*)?\r\n(?!(?:.*\r\n)?0+(?:;[^\r\n]*)?\r\n)/s
const BLANKS_IN_EXTENSIONS = /^([0-9a-f]+)[ \t]*;[ \t]*[^;= \t]+(?:[ \t]*[=;][ \t]*[^;= \t]+)*$/i

/**
 * The requests in these bytes, read by llhttp. Five things that llhttp refuses are said to it in other words and put back afterwards, since
 * the edge takes them on purpose (docs/decisions/0068): methods that llhttp has no number for, bytes above ASCII in a target, blanks in
 * the extensions of a chunk, a tab behind a length or coding, and requests behind one that says `Proxy-Connection: close`.
 */
export function readReference(bytes: Buffer): Reading<ReferenceRequest> {
  const rewrites: Rewrite[] = []
  let text = bytes.toString('latin1')
  for (;;) {
    const reading = readRequestsByLlhttp(Buffer.from(text, 'latin1'))
    const rewritten = reading.end.kind === 'refused' && rewrites.length < REWRITES_MAX ? rewrite(text, reading.end) : undefined
    if (!rewritten) return restore(reading, rewrites)
    text = rewritten.text
    rewrites.push(rewritten)
  }
}

/** Lengths and codings with the blanks before them that were behind them, wherever they stand: a text of the same length. */
function withoutTabs(text: string): string {
  return text.replaceAll(TAB_BEHIND_VALUE, '$1$3$2')
}

/** The answers in these bytes to requests with these methods, read by llhttp and put in other words likewise. */
export function readAnswerReference(bytes: Buffer, methods: readonly string[]): Reading<ReadAnswer> {
  let text = withoutTabs(bytes.toString('latin1')) // llhttp would read on until the connection closes
  for (let left = REWRITES_MAX; ; left -= 1) {
    const reading = readAnswersByLlhttp(Buffer.from(text, 'latin1'), methods, true)
    const rewritten = reading.end.kind === 'refused' && left > 0 ? rewriteAnswer(text, reading.end, methods) : undefined
    if (rewritten === undefined) return reading
    text = rewritten
  }
}

function rewrite(text: string, end: { code: string; at: number }): (Rewrite & { text: string }) | undefined {
  const inFields = end.code === 'HPE_CLOSED_CONNECTION' ? openConnections(text) : rewriteFields(text, end)
  return inFields === undefined ? rewriteLine(text, end.code) : { index: -1, text: inFields }
}

function rewriteFields(text: string, { code, at }: { code: string; at: number }): string | undefined {
  if (code === 'HPE_INVALID_CHUNK_SIZE' || code === 'HPE_STRICT' || code === UNSAID) {
    const from = text.lastIndexOf('\r\n', at - 1) + 2
    const line = BLANKS_IN_EXTENSIONS.exec(text.slice(from, text.indexOf('\r\n', from)))
    return line ? text.slice(0, from) + line[1] + text.slice(from + line[0].length) : undefined
  }
  if (code === 'HPE_INVALID_TRANSFER_ENCODING' || code === 'HPE_INVALID_CONTENT_LENGTH') {
    const line = [...text.matchAll(TAB_BEHIND_VALUE)].findLast(({ index }) => index < at)
    if (!line) return undefined
    return text.slice(0, line.index) + withoutTabs(`${line[0]}\r\n`).slice(0, -2) + text.slice(line.index + line[0].length)
  }
  return undefined
}

function rewriteAnswer(text: string, end: { code: string; at: number }, methods: readonly string[]): string | undefined {
  return end.code === 'HPE_CLOSED_CONNECTION' ? openConnections(text, methods) : rewriteFields(text, end)
}

/** In heads and trailers alone: a body may look like either, and is as long as it was said to be. */
function openConnections(text: string, methods?: readonly string[]): string | undefined {
  const ends = messageEndsByLlhttp(Buffer.from(text, 'latin1'), methods)
  const open = [0, ...ends].map((from, i) => {
    const message = text.slice(from, ends[i])
    const headEnd = message.indexOf('\r\n\r\n', /^(?:\r\n)*/.exec(message)![0].length) + 2
    const isChunked = /\r\ntransfer-encoding:/i.test(message.slice(0, headEnd))
    const trailersAt = isChunked ? message.search(LAST_CHUNK_AND_TRAILERS) : -1
    const bodyEnd = trailersAt < headEnd ? message.length : trailersAt
    const openIn = (start: number, end?: number) => message.slice(start, end).replaceAll(PROXY_CONNECTION, '$1')
    return openIn(0, headEnd) + message.slice(headEnd, bodyEnd) + openIn(bodyEnd)
  })
  return open.join('') === text ? undefined : open.join('')
}

function rewriteLine(text: string, code: string): (Rewrite & { text: string }) | undefined {
  if (code !== 'HPE_INVALID_METHOD' && code !== 'HPE_INVALID_URL') return undefined
  const ends = messageEndsByLlhttp(Buffer.from(text, 'latin1'))
  const from = ends.at(-1) ?? 0
  const line = REQUEST_LINE.exec(text.slice(from))
  if (!line) return undefined
  const [, method = '', target = ''] = line
  const lineFrom = text.indexOf(method, from)
  const behind = text.slice(lineFrom + method.length + target.length + 1)
  if (code === 'HPE_INVALID_METHOD')
    return { index: ends.length, method, text: `${text.slice(0, lineFrom)}${KNOWN_METHOD} ${target}${behind}` }
  const ascii = target.replaceAll(/[\x80-\xff]/g, 'h')
  return ascii === target ? undefined : { index: ends.length, target, text: `${text.slice(0, lineFrom)}${method} ${ascii}${behind}` }
}

function restore({ messages, partial, end }: Reading<FoundRequest>, rewrites: readonly Rewrite[]): Reading<ReferenceRequest> {
  const original = (request: FoundRequest, place: number): ReferenceRequest => {
    const of = rewrites.filter(({ index }) => index === place)
    const method = of.find((each) => each.method !== undefined)?.method ?? request.method
    const target = of.find((each) => each.target !== undefined)?.target ?? request.target
    return { ...request, method, target, isBeyondNode: of.length > 0 }
  }
  return { messages: messages.map(original), partial: partial && original(partial, messages.length), end }
}
