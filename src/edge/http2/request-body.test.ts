import fc from 'fast-check'
import { expect, test } from 'vitest'
import { IncomingBody } from './request-body.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('whatever the pieces and the reader’s pauses, the body arrives as it was, and only what was taken counts as taken', async () => {
  const step = fc.oneof(fc.constantFrom('pause', 'resume'), fc.integer({ min: 1, max: 9_000 }), fc.integer({ min: 1, max: 3 }))
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      let told = 0
      const incoming = new IncomingBody(undefined, (bytes) => (told += bytes))
      const read: Buffer[] = []
      const sent: Buffer[] = []
      const bytesOf = (chunks: Buffer[]) => chunks.reduce((sum, { length }) => sum + length, 0)
      const { stream } = incoming.body
      stream.on('data', (chunk) => read.push(chunk))
      for (const one of steps) {
        if (one === 'pause') stream.pause()
        else if (one === 'resume') stream.resume()
        else {
          const chunk = Buffer.alloc(one, sent.length)
          sent.push(chunk)
          incoming.push(chunk)
        }
        if (sent.length % 3 === 0) await turn()
        expect(told).toBeLessThanOrEqual(bytesOf(read))
      }
      stream.resume()
      await turn()
      await turn()
      expect(told).toBe(bytesOf(sent))
      incoming.end(['x-checksum', 'abc'])
      await turn()
      expect(Buffer.concat(read).equals(Buffer.concat(sent))).toBe(true)
      expect([stream.readableEnded, incoming.body.trailers()]).toEqual([true, ['x-checksum', 'abc']])
    }),
    { numRuns: 300 },
  )
})

test('a body of single bytes that nobody takes is kept as few pieces, and counts as taken when it is cut', () => {
  let told = 0
  const incoming = new IncomingBody(undefined, (bytes) => (told += bytes))
  for (let i = 0; i < 100_000; i += 1) incoming.push(Buffer.from('x'))
  expect(incoming.body.stream.readableLength).toBeGreaterThan(90_000)
  let pieces = 0
  const stream = incoming.body.stream
  while (stream.read() !== null) pieces += 1
  expect(pieces).toBeLessThan(50)
  incoming.push(Buffer.from('y'))
  incoming.cut()
  expect(told).toBe(100_001)
})
