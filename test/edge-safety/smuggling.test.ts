import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Recorder, startRecorder } from '../fuzz/recorder.ts'
import { startTestEdge, type TestEdge } from '../support/edge.ts'
import { frame, literals, RawHttp2, requestBlock } from '../support/http2-frames.ts'
import { type Nginx, startNginx } from '../support/nginx.ts'
import { speak } from '../support/raw-visitor.ts'

const HOST = 'shop.customer.com'
const H = `Host: ${HOST}\r\n`
const HIDDEN = `GET /hidden HTTP/1.1\r\n${H}\r\n`
const POST = `POST /a HTTP/1.1\r\n${H}`
const LENGTH = `Content-Length: ${HIDDEN.length}\r\n`
const BEHIND_CHUNKS = `0\r\n\r\n${HIDDEN}`
const CHUNKED = 'Transfer-Encoding: chunked\r\n'

/** What a visitor says, what arrives of it (method, target and body), and what it is answered. Whatever is refused ends the connection. */
type Row = [name: string, bytes: string, arrivals: string[], statuses: number[]]

const refused = (name: string, bytes: string, status = 400): Row => [name, bytes, [], [status]]
const withCoding = (name: string, coding: string, status = 400): Row =>
  refused(`TE.TE: ${name}`, `${POST}${LENGTH}${coding}\r\n${BEHIND_CHUNKS}`, status)
const withLength = (length: string): Row =>
  refused(`a length of ${JSON.stringify(length)}`, `${POST}Content-Length: ${length}\r\n\r\nabcde${HIDDEN}`)
const withChunks = (name: string, body: string): Row => [name, `${POST}${CHUNKED}\r\n${body}${HIDDEN}`, [], []]

const ROWS: Row[] = [
  refused('CL.TE', `${POST}${LENGTH}${CHUNKED}\r\n${BEHIND_CHUNKS}`),
  refused('TE.CL', `${POST}${CHUNKED}Content-Length: 3\r\n\r\n${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`),
  refused('CL.TE in HTTP/1.0', `POST /a HTTP/1.0\r\n${H}${LENGTH}${CHUNKED}\r\n${BEHIND_CHUNKS}`),
  refused('TE in HTTP/1.0', `POST /a HTTP/1.0\r\n${H}${CHUNKED}\r\n${BEHIND_CHUNKS}`),
  withCoding('a tab before the coding', 'Transfer-Encoding:\tchunked\r\n'),
  withCoding('a vertical tab', 'Transfer-Encoding: \x0bchunked\r\n'),
  withCoding('a form feed behind', 'Transfer-Encoding: chunked\x0c\r\n'),
  withCoding('another case', 'tRANSFER-eNCODING: CHUNKED\r\n'),
  withCoding('a space before the colon', 'Transfer-Encoding : chunked\r\n'),
  withCoding('a folded value', 'Transfer-Encoding:\r\n chunked\r\n'),
  withCoding('a folded line before it', 'X: y\r\n Transfer-Encoding: chunked\r\n'),
  withCoding('behind a bare LF', 'X: y\nTransfer-Encoding: chunked\r\n'),
  withCoding('behind a bare CR', 'X: y\rTransfer-Encoding: chunked\r\n'),
  withCoding('a leading space', ' Transfer-Encoding: chunked\r\n'),
  withCoding('a NUL in the name', 'Transfer-Encoding\0: chunked\r\n'),
  withCoding('quotes', 'Transfer-Encoding: "chunked"\r\n'),
  withCoding('twice', `${CHUNKED}Transfer-Encoding: identity\r\n`),
  refused('a coding that is none', `${POST}Transfer-Encoding: xchunked\r\n\r\n${BEHIND_CHUNKS}`, 501),
  refused('a coding with a parameter', `${POST}Transfer-Encoding: chunked;q=1\r\n\r\n${BEHIND_CHUNKS}`, 501),
  refused('identity before chunked', `${POST}Transfer-Encoding: identity, chunked\r\n\r\n${BEHIND_CHUNKS}`, 501),
  refused('chunked before identity', `${POST}Transfer-Encoding: chunked, identity\r\n\r\n${BEHIND_CHUNKS}`, 501),
  refused('a comma before chunked', `${POST}Transfer-Encoding: ,chunked\r\n\r\n${BEHIND_CHUNKS}`, 501),
  refused('an empty coding', `${POST}Transfer-Encoding:\r\n\r\n${BEHIND_CHUNKS}`, 501),
  refused('two lengths', `${POST}Content-Length: 0\r\n${LENGTH}\r\n${HIDDEN}`),
  refused('two equal lengths', `${POST}${LENGTH}${LENGTH}\r\n${HIDDEN}`),
  ...['+5', '-5', '5, 5', '5,6', '0x5', '5e0', '5.0', '5 5', '"5"', '', '9999999999999999', '18446744073709551621', '\u00b2'].map(
    withLength,
  ),
  ['a length with leading zeros', `${POST}Content-Length: 00003\r\n\r\nabc${HIDDEN}`, ['POST /a abc', 'GET /hidden '], [200, 200]],
  ['a length behind an underscore', `${POST}Content_Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`, ['POST /a ', 'GET /hidden '], [200, 200]],
  [
    'a coding behind an underscore',
    `${POST}Transfer_Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${HIDDEN}`,
    ['POST /a 0\r\n\r\n', 'GET /hidden '],
    [200, 200],
  ],
  [
    'a length that Connection declares of this hop',
    `${POST}Connection: Content-Length\r\n${LENGTH}\r\n${HIDDEN}`,
    [`POST /a ${HIDDEN}`],
    [200],
  ],
  [
    'a coding that Connection declares of this hop',
    `${POST}Connection: Transfer-Encoding, Host\r\n${CHUNKED}\r\n1\r\na\r\n0\r\n\r\n`,
    ['POST /a a'],
    [200],
  ],
  ['a request in a body', `${POST}${LENGTH}\r\n${HIDDEN}`, [`POST /a ${HIDDEN}`], [200]],
  ['a request in the body of a GET', `GET /a HTTP/1.1\r\n${H}${LENGTH}\r\n${HIDDEN}`, [`GET /a ${HIDDEN}`], [200]],
  ['a request in the body of a HEAD', `HEAD /a HTTP/1.1\r\n${H}${LENGTH}\r\n${HIDDEN}`, [`HEAD /a ${HIDDEN}`], [200]],
  ['a request in a chunk', `${POST}${CHUNKED}\r\n${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`, [`POST /a ${HIDDEN}`], [200]],
  ['a request behind chunks', `${POST}${CHUNKED}\r\n${BEHIND_CHUNKS}`, ['POST /a ', 'GET /hidden '], [200, 200]],
  ['a request in a quoted extension', `${POST}${CHUNKED}\r\n1;a="GET /hidden HTTP/1.1"\r\na\r\n0\r\n\r\n`, ['POST /a a'], [200]],
  withChunks('a bare LF behind a size', '1\na\r\n0\r\n\r\n'),
  withChunks('a bare LF in an extension', '1;a\nb\r\na\r\n0\r\n\r\n'),
  withChunks('a bare CR in an extension', '1;a\rb\r\na\r\n0\r\n\r\n'),
  withChunks('an extension without a name', '1;\r\na\r\n0\r\n\r\n'),
  withChunks('an open quote in an extension', '1;a="\r\na\r\n0\r\n\r\n'),
  withChunks('a blank behind a size', '1 \r\na\r\n0\r\n\r\n'),
  withChunks('a blank before a size', ' 1\r\na\r\n0\r\n\r\n'),
  withChunks('a prefix', '0x1\r\na\r\n0\r\n\r\n'),
  withChunks('a sign', '+1\r\na\r\n0\r\n\r\n'),
  withChunks('a size of 64 bits and more', '10000000000000001\r\na\r\n0\r\n\r\n'),
  withChunks('a chunk shorter than its size', '2\r\na\r\n0\r\n\r\n'),
  withChunks('a chunk longer than its size', '1\r\nab\r\n0\r\n\r\n'),
  withChunks('a chunk that ends with a bare LF', '1\r\na\n0\r\n\r\n'),
  withChunks('a length in the trailers', `1\r\na\r\n0\r\n${LENGTH}\r\n`),
  withChunks('a folded trailer', '1\r\na\r\n0\r\nX: y\r\n z\r\n\r\n'),
  refused('a bare LF between head and body', `${POST}Content-Length: 0\r\n\n${HIDDEN}`),
  refused('lines that end with LF alone', `GET /a HTTP/1.1\nHost: ${HOST}\n\n${HIDDEN}`),
  refused('a NUL in a value', `GET /a HTTP/1.1\r\n${H}X: a\0b\r\n\r\n`),
  refused('a space behind a name', `GET /a HTTP/1.1\r\n${H}X : y\r\n\r\n`),
  refused('two Hosts', `GET /a HTTP/1.1\r\n${H}Host: other.example\r\n\r\n`),
  refused('a target for another host', `GET http://other.example/a HTTP/1.1\r\n${H}\r\n`),
  refused('a target for another port', `GET https://${HOST}:444/a HTTP/1.1\r\n${H}\r\n`),
  refused('a target for another host in HTTP/1.0', `GET http://other.example/a HTTP/1.0\r\n\r\n${HIDDEN}`, 421),
  ['a target that names its host', `GET http://${HOST}/a HTTP/1.1\r\n${H}\r\n`, ['GET /a '], [200]],
  refused('HTTP/0.9', 'GET /a\r\n\r\n', 505),
  refused('HTTP/0.9 with a version', `GET /a HTTP/0.9\r\n${H}\r\n`, 505),
  refused('the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505),
  [
    'an expectation without a body',
    `GET /a HTTP/1.1\r\n${H}Expect: 100-continue\r\n\r\n${HIDDEN}`,
    ['GET /a ', 'GET /hidden '],
    [200, 200],
  ],
  ['an expectation whose body comes unasked', `${POST}Expect: 100-continue\r\n${LENGTH}\r\n${HIDDEN}`, [`POST /a ${HIDDEN}`], [200]],
  refused('another expectation', `${POST}Expect: 100-continue, 100-continue\r\n${LENGTH}\r\n${HIDDEN}`, 417),
  ['a request behind Connection: close', `GET /a HTTP/1.1\r\n${H}Connection: close\r\n\r\n${HIDDEN}`, ['GET /a '], [200]],
  [
    'a request behind a refused one with a body',
    `POST /a HTTP/1.0\r\nHost: other.example\r\nContent-Length: 1\r\n\r\na${HIDDEN}`,
    [],
    [421],
  ],
  [
    'a change to HTTP/2',
    `GET /a HTTP/1.1\r\n${H}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n${HIDDEN}`,
    ['GET /a ', 'GET /hidden '],
    [200, 200],
  ],
  ['empty lines before a request', `\r\n\r\nGET /a HTTP/1.1\r\n${H}\r\n`, ['GET /a '], [200]],
  ['the beginning of another request', `GET /a HTTP/1.1\r\n${H}\r\nGET /hidden HTTP/1.1\r\nX: `, ['GET /a '], [200]],
]

let edge: TestEdge
let recorder: Recorder
let nginx: Nginx

beforeAll(async () => {
  recorder = await startRecorder()
  nginx = await startNginx(recorder.port)
  edge = await startTestEdge({ http2Engine: 'own' })
})
afterAll(async () => {
  await edge.stop(0)
  await nginx.stop()
  await recorder.stop()
})

const target = () => ({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })

/** What arrived since the last time, once a request of somebody else has come through the same pool and been answered rightly. */
async function arrivals(): Promise<string[]> {
  const probe = await speak(target(), `GET /probe HTTP/1.1\r\n${H}Connection: close\r\n\r\n`)
  const { status, body, field } = await probe.answer()
  expect([status, body]).toEqual([200, field('x-arrival')])
  probe.socket.destroy()
  const all = recorder.take(HOST)
  expect(recorder.left()).toEqual([])
  expect(body).toBe(`${all.at(-1)!.number} ${HOST}`)
  return all.map((one) => `${one.method} ${one.target} ${one.body}`).filter((one) => one !== 'GET /probe ')
}

describe.each(['node', 'nginx'] as const)('before a real %s', (way) => {
  beforeAll(() => edge.route(HOST, way === 'node' ? recorder.url : nginx.url))

  test.each(ROWS)('%s: exactly the requests that are there arrive', async (_name, bytes, expected, statuses) => {
    const seenBefore = nginx.seen().length
    const reader = await speak(target(), bytes)
    const isHead = bytes.startsWith('HEAD')
    const answered: number[] = []
    for (const _ of statuses) {
      let answer = await reader.answer({ bodiless: isHead })
      if (answer.status === 100) answer = await reader.answer({ bodiless: isHead })
      answered.push(answer.status)
    }
    if (statuses.length === 0) await reader.closed()
    expect(answered).toEqual(statuses)
    if (statuses.some((status) => status >= 400)) expect(await reader.closed()).toBe('')
    reader.socket.destroy()
    expect(await arrivals()).toEqual(expected)
    if (way === 'nginx') {
      const whole = () =>
        nginx
          .seen()
          .slice(seenBefore)
          .filter(({ status }) => status === 200)
      await expect
        .poll(() => whole().map(({ method, target: path }) => `${method} ${path}`))
        .toEqual([...expected.map((one) => one.split(' ', 2).join(' ')), 'GET /probe'])
    }
  })
})

const body = (text: string) => Buffer.from(text, 'latin1')
const block = (...more: string[]) => requestBlock(HOST, { method: 'POST', path: '/a', more })
const pseudo = (changes: Record<string, string>) =>
  literals(...Object.entries({ ':method': 'GET', ':scheme': 'https', ':path': '/a', ':authority': HOST, ...changes }).flat())
const PROBE_STREAM = 101

/** Frames of one stream, and what arrives of it. */
const FRAMES: [name: string, head: Buffer, data: Buffer | undefined, arrivals: string[]][] = [
  ['a body that looks like the end of chunks and a request', block(), body(BEHIND_CHUNKS), [`POST /a ${BEHIND_CHUNKS}`]],
  ['a body of the announced length', block('content-length', '3'), body('abc'), ['POST /a abc']],
  ['a body longer than announced', block('content-length', '0'), body(HIDDEN), []],
  ['a body shorter than announced', block('content-length', '500'), body(HIDDEN), []],
  ['a coding', block('transfer-encoding', 'chunked'), body(BEHIND_CHUNKS), []],
  ['a connection field', block('connection', 'transfer-encoding'), undefined, []],
  ['two lengths', block('content-length', '3', 'content-length', '0'), body('abc'), []],
  ['a signed length', block('content-length', '+3'), body('abc'), []],
  ['CR LF in a value', block('x-a', `b\r\nTransfer-Encoding: chunked`), body(BEHIND_CHUNKS), []],
  ['LF in a value', block('x-a', 'b\nX-B: c'), undefined, []],
  ['CR in a value', block('x-a', 'b\rX-B: c'), undefined, []],
  ['NUL in a value', block('x-a', 'b\0c'), undefined, []],
  ['CR LF in a name', block('x-a: b\r\nx-c', 'd'), undefined, []],
  ['a colon in a name', block('x-a:', 'b'), undefined, []],
  ['a space in a name', block('transfer-encoding ', 'chunked'), undefined, []],
  ['an upper-case name', block('Transfer-Encoding', 'chunked'), undefined, []],
  ['a request line in the method', pseudo({ ':method': `GET /hidden HTTP/1.1\r\n${H}\r\nGET` }), undefined, []],
  ['a space in the method', pseudo({ ':method': 'GET /hidden' }), undefined, []],
  ['a request line in the path', pseudo({ ':path': `/a HTTP/1.1\r\n${H}\r\nGET /hidden` }), undefined, []],
  ['a space in the path', pseudo({ ':path': '/a HTTP/1.1' }), undefined, []],
  ['CR LF in the authority', pseudo({ ':authority': `${HOST}\r\nX-A: b` }), undefined, []],
  ['a path in the authority', pseudo({ ':authority': `${HOST}/x` }), undefined, []],
  ['a Host that says otherwise', block('host', 'other.example'), undefined, []],
  ['a Host with another port', block('host', `${HOST}:444`), undefined, []],
  ['two paths', Buffer.concat([block(), literals(':path', '/hidden')]), undefined, []],
  ['two authorities', Buffer.concat([literals(':authority', HOST), block()]), undefined, []],
  ['a length behind an underscore', block('content_length', '3'), body('abc'), ['POST /a abc']],
]

describe.each(['node', 'nginx'] as const)('over HTTP/2 before a real %s', (way) => {
  beforeAll(() => edge.route(HOST, way === 'node' ? recorder.url : nginx.url))

  test.each(FRAMES)('%s: exactly the requests that are there arrive', async (_name, head, data, expected) => {
    const visitor = await RawHttp2.open(target())
    visitor.send(frame(1, data ? 4 : 5, 1, head), ...(data ? [frame(0, 1, 1, data)] : []))
    const isOver = ({ type, flags, streamId }: { type: number; flags: number; streamId: number }) =>
      type === 7 || (streamId === 1 && (type === 3 || ((type === 0 || type === 1) && (flags & 1) === 1)))
    await visitor.until(isOver)
    // The connection, when it goes on, is in step.
    if (!visitor.frames.some(({ type }) => type === 7)) {
      visitor.send(frame(1, 5, PROBE_STREAM, requestBlock(HOST, { path: '/probe' })))
      const answer = await visitor.until(({ type, streamId }) => type === 0 && streamId === PROBE_STREAM)
      expect(answer.payload.toString()).toContain(HOST)
    }
    visitor.socket.destroy()
    expect(await arrivals()).toEqual(expected)
  })
})

test('a connection on which many requests wait is answered in their order, each with its own', async () => {
  await edge.route(HOST, nginx.url)
  const reader = await speak(target(), Array.from({ length: 50 }, (_, i) => `GET /${i} HTTP/1.1\r\n${H}\r\n`).join(''))
  const numbers: number[] = []
  for (let i = 0; i < 50; i += 1) numbers.push(Number.parseInt((await reader.answer()).body, 10))
  reader.socket.destroy()
  const byNumber = new Map(recorder.take(HOST).map((one) => [one.number, one.target]))
  expect(numbers.map((number) => byNumber.get(number))).toEqual(Array.from({ length: 50 }, (_, i) => `/${i}`))
})
