import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { milliseconds } from '../../test/support/costs.ts'
import { AnswerParser, type ParsedHead } from './answer-parser.ts'
import { LastAnswerHead } from './last-answer-head.ts'

/** What visitors were told, head by head: its bytes are there for the call alone. */
const told: string[] = []

function parse(pieces: Buffer[], method = 'GET', last = new LastAnswerHead()) {
  const seen = {
    interim: [] as number[],
    head: undefined as ParsedHead | undefined,
    body: '',
    trailers: undefined as readonly string[] | undefined,
  }
  const parser = new AnswerParser(
    { method, upgrade: undefined },
    {
      onInterim: ({ status }) => seen.interim.push(status),
      onHead: (head) => {
        seen.head = head
        told.push(
          `${head.fields.toVisitor({ keepLength: true, keepTrailer: true, keepUpgrade: true }).lines} ${head.fields.isEventStream} ${head.fields.idleMs}`,
        )
      },
      onData: (chunk) => {
        seen.body += chunk.toString('latin1')
      },
      onEnd: (trailers) => {
        seen.trailers = trailers
      },
    },
    last,
  )
  let used = 0
  for (const piece of pieces) if (!parser.isDone) used += parser.feed(piece)
  return { ...seen, parser, used }
}
const bytes = (text: string) => Buffer.from(text, 'latin1')

afterEach(() => void vi.useRealTimers())

test.each([
  ['counted', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', 'hello'],
  ['chunked', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n3 \t;x\r\nabc\r\n0\r\n\r\n', 'helloabc'],
  ['chunked with trailers', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n', 'hello'],
  ['empty', 'HTTP/1.1 204 No Content\r\n\r\n', ''],
  [
    'behind interim answers',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx',
    'x',
  ],
])('an answer means the same in whatever pieces it comes: %s', (_name, text, body) => {
  const whole = bytes(`${text}next`)
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: whole.length - 1 }), { maxLength: 12 }), (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), whole.length]
      const pieces = at.slice(1).map((end, i) => whole.subarray(at[i], end))
      const { parser, body: read } = parse(pieces.filter((piece) => piece.length > 0))
      expect(parser.isDone).toBe(true)
      expect(read).toBe(body)
    }),
    { numRuns: 200 },
  )
  expect(parse([whole]).used).toBe(whole.length - 4)
})

test.each([
  ['204', 'Transfer-Encoding: chunked', false],
  ['204', 'Content-Length: 5', false],
  ['204', 'Content-Length: 0', true],
  ['304', 'Transfer-Encoding: chunked', true], // may be said (RFC 9112 §6.1), and no body follows
  ['304', 'Content-Length: 5', true],
])('a connection whose %s says %s may carry another answer: %s', (status, field, keepsAlive) => {
  const { parser, head } = parse([bytes(`HTTP/1.1 ${status} Fine\r\n${field}\r\n\r\n`)])
  expect(parser.isDone).toBe(true)
  expect(head).toMatchObject({ body: 'none', keepsAlive })
})

test('a body without length ends with the connection, and with it alone', () => {
  const { parser, head, body } = parse([bytes('HTTP/1.1 200 OK\r\n\r\nsome')])
  expect(parser.isDone).toBe(false)
  expect(head).toMatchObject({ body: 'unknown', keepsAlive: false })
  expect(parser.close()).toBe(true)
  expect(body).toBe('some')
})

test.each([
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n',
  'HTTP/1.1 200 OK\r\n',
])('an answer cut short is not complete: %j', (text) => {
  expect(parse([bytes(text)]).parser.close()).toBe(false)
})

test.each([
  ['no HTTP at all', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a bare LF', 'HTTP/1.1 200 OK\nContent-Length: 0\n\r\n\r\n'],
  ['a bare CR in a value', 'HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n'],
  ['a NUL', 'HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n'],
  ['a folded line', 'HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n'],
  ['a space before the colon', 'HTTP/1.1 200 OK\r\nX : a\r\n\r\n'],
  ['no colon', 'HTTP/1.1 200 OK\r\nX\r\n\r\n'],
  ['both framings', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n'],
  ['a list of lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n'],
  ['a signed length', 'HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n'],
  ['another coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n'],
  ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ['an upgrade nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ['a chunk size with a sign', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n'],
  ['a hexadecimal prefix', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n'],
  ['a chunk size beyond all numbers', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n'],
  ['a chunk longer than its size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n'],
  ['a bare LF behind a chunk size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n'],
  ['an endless row of interim answers', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(101)],
  ['a head without end', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(70_000)}`],
])('an upstream that answers with %s is refused', (_name, text) => {
  expect(() => parse([bytes(text)])).toThrow(expect.objectContaining({ reason: 'malformed' }))
})

test('the answer to HEAD has no body, whatever its length says', () => {
  const { parser, head, body } = parse([bytes('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n')], 'HEAD')
  expect(parser.isDone).toBe(true)
  expect(head?.fields.length).toBe('5')
  expect(body).toBe('')
})

test('random bytes never do anything but parse or be refused', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.constantFrom(
          'HTTP/1.1 200 OK',
          '\r\n',
          '\r',
          '\n',
          ':',
          'Content-Length: 3',
          'Transfer-Encoding: chunked',
          '3',
          'abc',
          '0',
          '\0',
          ' ',
        ),
        { maxLength: 20 },
      ),
      (parts) => {
        try {
          parse([bytes(parts.join(''))])
        } catch (error) {
          expect(error).toMatchObject({ reason: 'malformed' })
        }
      },
    ),
    { numRuns: 2_000 },
  )
})

const line = fc.constantFrom(
  'Server: nginx',
  'Date: Sat, 21 Nov 2026 22:00:00 GMT',
  'Date: Sat, 21 Nov 2026 22:00:01 GMT',
  'X-A: 1',
  'X-A: 2',
  'Content-Length: 3',
  'Content-Length: 4',
  'Content-Length: 03',
  'Transfer-Encoding: chunked',
  'Connection: close',
  'Connection: X-A',
  'Keep-Alive: timeout=5',
  'Set-Cookie: a=b',
  'X_low: y',
  'X-Blank:  y ',
  'Content-Type: text/event-stream',
  'Trailer: X',
)
const answer = fc
  .record({
    status: fc.constantFrom(
      'HTTP/1.1 200 OK',
      'HTTP/1.1 200 ok',
      'HTTP/1.0 200 OK',
      'HTTP/1.1 204 OK',
      'HTTP/1.1 304 OK',
      'HTTP/1.1 103 OK\r\n\r\nHTTP/1.1 200 OK',
    ),
    lines: fc.array(line, { maxLength: 4 }),
  })
  .map(({ status, lines }) => [status, ...lines, '', 'body'].join('\r\n'))

test('a head that is the last one of its upstream again, or nearly, is read as if it were the first', () => {
  vi.useFakeTimers({ toFake: ['Date'] }) // what has no Date is given one, and two readings may lie in two seconds
  fc.assert(
    fc.property(
      fc.array(answer, { minLength: 1, maxLength: 3 }),
      fc.array(fc.tuple(fc.nat(2), fc.constantFrom('GET', 'HEAD'), fc.nat(40)), { maxLength: 12 }),
      (answers, order) => {
        const last = new LastAnswerHead()
        const outcome = (text: string, method: string, cut: number, of: LastAnswerHead) => {
          const arrived = bytes(text)
          try {
            const { head, body, trailers, interim, used } = parse(
              cut > 0 && cut < arrived.length ? [arrived.subarray(0, cut), arrived.subarray(cut)] : [arrived],
              method,
              of,
            )
            return {
              status: head?.status,
              reason: head?.reason,
              framing: head?.body,
              keepsAlive: head?.keepsAlive,
              fields: told.pop(),
              body,
              trailers,
              interim,
              used,
            }
          } catch (error) {
            return (error as Error).message
          } finally {
            told.length = 0
            arrived.fill('z') // the memory is another's
          }
        }
        for (const [which, method, cut] of order) {
          const text = answers[which % answers.length]!
          expect(outcome(text, method, cut, last)).toEqual(outcome(text, method, cut, new LastAnswerHead()))
        }
      },
    ),
    { numRuns: 3_000 },
  )
})

test('a head of 60 KB costs little more in crumbs than its crumbs do', () => {
  const head = bytes(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(60_000)}\r\nContent-Length: 0\r\n\r\n`)
  const crumbs = Array.from({ length: head.length }, (_, at) => head.subarray(at, at + 1))
  const body = bytes('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
  const asBody = milliseconds(() => expect(parse([body, ...crumbs]).body).toHaveLength(head.length))
  const asHead = milliseconds(() => expect(parse(crumbs).head?.status).toBe(200))
  expect(asHead).toBeLessThan(10 * asBody + 100)
})

test('a change of protocol costs little, however many were asked for and are chosen', () => {
  const cost = (asked: string, chosen: string) =>
    milliseconds(() => {
      const listener = { onInterim() {}, onHead() {}, onData() {}, onEnd() {} }
      const parser = new AnswerParser({ method: 'GET', upgrade: asked }, listener, new LastAnswerHead())
      parser.feed(bytes(`HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: ${chosen}\r\n\r\n`))
      expect(parser.isDone).toBe(true)
    })
  const asked = `${'a,'.repeat(16_000)}z`
  expect(cost(asked, `${'z,'.repeat(30_000)}z`)).toBeLessThan(30 * cost(asked, 'z') + 50)
})
