import { expect, test } from 'vitest'
import { alone, commonBuffer, copyOf, emptyChunk, keep, lend, letGo, partOf, READ_BYTES_MAX, takeBuffer } from './let-go.ts'

const LARGE = 40_000

test('memory is used again once the chunk and all its parts have been let go, and not before', () => {
  const chunk = lend(takeBuffer(READ_BYTES_MAX).fill('a'), 60_000)
  const head = partOf(chunk, 0, 5_000)
  const body = partOf(chunk, 5_000, 60_000)
  letGo(chunk)
  letGo(head)
  expect(body.toString()).toBe('a'.repeat(55_000))
  letGo(body)
  for (const gone of [chunk, head, body]) expect(gone.length).toBe(0)
})

test('to let go of one chunk twice takes nothing from the others', () => {
  const chunk = copyOf(Buffer.alloc(LARGE, 'b'))
  const part = partOf(chunk, 0, LARGE)
  letGo(part)
  letGo(part)
  expect(chunk.toString()).toBe('b'.repeat(LARGE))
})

test('a part of a view of the memory counts as one of the chunk itself', () => {
  const chunk = copyOf(Buffer.alloc(LARGE, 'c'))
  const part = partOf(chunk.subarray(100), 0, 10_000)
  letGo(chunk)
  expect(part.toString()).toBe('c'.repeat(10_000))
})

test('a small part, and what is kept, are copies', () => {
  const chunk = copyOf(Buffer.alloc(LARGE, 'd'))
  const small = partOf(chunk, 10, 20)
  const kept = alone(chunk)
  letGo(chunk)
  expect(small.toString()).toBe('d'.repeat(10))
  expect(kept.toString()).toBe('d'.repeat(LARGE))
})

test('what lies in a common buffer is copied to be kept, all of the buffer too', () => {
  const common = commonBuffer(1_000).fill('f')
  const kept = [keep(common.subarray(10, 20)), keep(partOf(common, 10, 20)), keep(common), alone(common), alone(common.subarray(10, 20))]
  common.fill('g')
  for (const chunk of kept) expect(chunk.toString()).toBe('f'.repeat(chunk.length))
})

test('what has memory of its own is kept as it is', () => {
  const own = [Buffer.alloc(10), copyOf(Buffer.alloc(LARGE)), lend(takeBuffer(READ_BYTES_MAX), 60_000)]
  for (const chunk of own) expect(keep(chunk)).toBe(chunk)
})

test('what nobody lent is cut without a copy, and stays', () => {
  const bytes = Buffer.alloc(LARGE, 'e')
  const part = partOf(bytes, 10, 30)
  letGo(bytes)
  letGo(part)
  expect(part.buffer).toBe(bytes.buffer)
  expect(bytes.toString()).toBe('e'.repeat(LARGE))
})

test.each([1, 16_384, 16_393, 65_536, 98_304, 1_000_000])('a chunk of %d bytes is as large as was asked', (bytes) => {
  expect(emptyChunk(bytes)).toHaveLength(bytes)
})
