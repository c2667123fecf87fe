import { mutate } from './mutations.ts'
import type { Random } from './random.ts'
import { chunksOf } from './request-stream.ts'

/** What an application sends on one connection, one character a byte, as answers to requests with these methods. */
export type AnswerStream = { text: string; methods: string[]; isValid: boolean }

const MUTATED_SHARE = 0.8
const ANSWERS_MAX = 4
const STATUS_LINES = [
  '200 OK',
  '200 ',
  '200',
  '404 Not Found',
  '204 No Content',
  '304 Not Modified',
  '500 \xe9',
  '301 Moved: there',
  '999 x',
]
const FIELDS = [
  'Content-Type: text/plain',
  'Set-Cookie: a=b',
  'Set-Cookie: c=d',
  'X-Empty:',
  'X-High: \xe9',
  'Connection: keep-alive',
  'Trailer: X-Sum',
]
/** A 204 may not (RFC 9110 §8.6, RFC 9112 §6.1): the connection carries nothing behind it, as the body could come. */
const HAS_BODY_ANNOUNCED = /HTTP\/1\.1 204[^\r\n]*\r\n(?:[^\r\n]+\r\n)*?(?:Transfer-Encoding:|Content-Length: [1-9])/
const INTERIM = ['100 Continue', '103 Early Hints\r\nLink: </a>', '102 Processing']

/** A few answers, most of the time with something changed in them. */
export function makeAnswers(random: Random): AnswerStream {
  const methods: string[] = []
  let text = ''
  for (let left = 1 + random.below(ANSWERS_MAX); left > 0; left -= 1) {
    const method = random.chance(0.15) ? 'HEAD' : 'GET'
    methods.push(method)
    text += answer(random, method, left === 1)
  }
  const isMutated = random.chance(MUTATED_SHARE)
  return { text: isMutated ? mutate(text, random) : text, methods, isValid: !isMutated && !HAS_BODY_ANNOUNCED.test(text) }
}

function answer(random: Random, method: string, isLast: boolean): string {
  const statusLine = random.pick(STATUS_LINES)
  const interim = random.chance(0.15) ? `HTTP/1.1 ${random.pick(INTERIM)}\r\n\r\n` : ''
  const fields = Array.from({ length: random.below(3) }, () => random.pick(FIELDS))
  const isBodiless = method === 'HEAD' || /^(204|304)/.test(statusLine)
  const content = random.pick(['', 'abc', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', '0\r\n\r\n'])
  let body = ''
  const kind = random.below(isLast ? 5 : 4)
  if (kind < 2) {
    fields.push(`Content-Length: ${content.length}`)
    body = content
  } else if (kind < 4) {
    fields.push('Transfer-Encoding: chunked')
    body = chunksOf(random, 'a.example')
  } else {
    if (random.chance(0.5)) fields.push('Connection: close')
    body = content
  }
  return `${interim}HTTP/1.1 ${statusLine}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n${isBodiless ? '' : body}`
}
