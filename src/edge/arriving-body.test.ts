import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ArrivingBody } from './arriving-body.ts'
import { commonBuffer, lend, letGo, READ_BYTES_MAX, takeBuffer } from './let-go.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const bytesOf = (chunks: Buffer[]) => chunks.reduce((sum, { length }) => sum + length, 0)

/** A body and what is known of it; `read` in the order in which it came. */
function begin(length?: number) {
  const seen = { told: 0, read: [] as Buffer[], ends: 0 }
  const body = new ArrivingBody(length, (bytes) => (seen.told += bytes))
  const end = () => {
    seen.ends += 1
  }
  const start = () => body.start({ take: (chunk) => void seen.read.push(chunk), end })
  return { body, seen, start }
}

test('whatever the pieces and the reader’s pauses, the body arrives as it was, and only what was taken counts as taken', async () => {
  const step = fc.oneof(fc.constantFrom('pause', 'resume'), fc.integer({ min: 1, max: 9_000 }), fc.integer({ min: 1, max: 3 }))
  const startsAt = fc.integer({ min: 0, max: 40 })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), startsAt, fc.boolean(), async (steps, starting, endsEarly) => {
      const { body, seen, start } = begin()
      const sent: Buffer[] = []
      for (const [i, one] of steps.entries()) {
        if (i === starting) start()
        if (one === 'pause') body.pause()
        else if (one === 'resume' && i > starting) body.resume()
        else if (typeof one === 'number') {
          const chunk = Buffer.alloc(one, sent.length)
          sent.push(chunk)
          body.push(chunk)
        }
        if (sent.length % 3 === 0) await turn()
        expect(seen.told).toBe(bytesOf(seen.read))
        expect(body.waitingBytes).toBe(bytesOf(sent) - seen.told)
      }
      if (endsEarly) body.end(['x-checksum', 'abc'])
      if (starting >= steps.length) start()
      body.resume()
      await turn()
      if (!endsEarly) {
        expect(seen.ends).toBe(0)
        body.end(['x-checksum', 'abc'])
      }
      await turn()
      expect(seen.told).toBe(bytesOf(sent))
      expect(Buffer.concat(seen.read).equals(Buffer.concat(sent))).toBe(true)
      expect([seen.ends, body.trailers()]).toEqual([1, ['x-checksum', 'abc']])
    }),
    { numRuns: 300 },
  )
})

test('what its reader brings about while it takes stays in order, and a pause in the middle holds the rest', async () => {
  const { body, seen } = begin()
  for (const size of [5_000, 6_000, 7_000]) body.push(Buffer.alloc(size))
  body.start({
    take(chunk) {
      seen.read.push(chunk)
      if (seen.read.length === 1) body.push(Buffer.alloc(8_000))
      if (seen.read.length === 2) body.pause()
    },
    end() {
      seen.ends += 1
    },
  })
  await turn()
  expect(seen.read.map(({ length }) => length)).toEqual([5_000, 6_000])
  body.end([])
  await turn()
  expect(seen.ends).toBe(0)
  body.resume()
  body.resume()
  expect(seen.read).toHaveLength(2)
  await turn()
  expect(seen.read.map(({ length }) => length)).toEqual([5_000, 6_000, 7_000, 8_000])
  expect(seen.ends).toBe(1)
})

test('a reader that stops hears nothing more, and what comes then is thrown away', async () => {
  const { body, seen, start } = begin()
  start()
  body.push(Buffer.alloc(10))
  body.stop()
  body.push(Buffer.alloc(20))
  body.end([])
  await turn()
  expect([seen.read.length, seen.ends, seen.told]).toEqual([1, 0, 30])
})

test('a body that is cut ends without a word, even when its end was on its way', async () => {
  const { body, seen, start } = begin()
  body.push(Buffer.alloc(10))
  start()
  body.end([])
  body.cut()
  body.push(Buffer.alloc(20))
  await turn()
  expect([seen.read.length, seen.ends, seen.told, body.waitingBytes]).toEqual([0, 0, 30, 0])
})

test('a body of single bytes that nobody takes is kept as few pieces, and counts as taken when it is cut', async () => {
  const waiting = begin()
  const cut = begin()
  for (let i = 0; i < 100_000; i += 1) for (const { body } of [waiting, cut]) body.push(Buffer.from('x'))
  expect(waiting.body.waitingBytes).toBe(100_000)
  waiting.start()
  await turn()
  expect(waiting.seen.read.length).toBeLessThan(50)
  cut.body.cut()
  expect([waiting.seen.told, cut.seen.told]).toEqual([100_000, 100_000])
})

test('what waits for its reader stays when the buffer that it came in is read into again', async () => {
  const { body, seen, start } = begin()
  const common = commonBuffer(16_384)
  for (const bytes of [16_384, 5_000, 10]) body.push(common.fill('w').subarray(0, bytes))
  common.fill('x')
  start()
  await turn()
  expect(Buffer.concat(seen.read).toString()).toBe('w'.repeat(16_384 + 5_000 + 10))
})

test('what the reader lets go of at once counts as taken all the same', () => {
  let told = 0
  const body = new ArrivingBody(undefined, (bytes) => (told += bytes))
  body.start({ take: letGo, end() {} })
  body.push(lend(takeBuffer(READ_BYTES_MAX), 50_000))
  expect(told).toBe(50_000)
})
