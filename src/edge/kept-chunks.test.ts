import { expect, test } from 'vitest'
import { KeptChunks } from './kept-chunks.ts'
import { commonBuffer, emptyChunk, partOf } from './let-go.ts'

test('what is kept lies in memory of its own, and in order', () => {
  const kept = new KeptChunks()
  const common = commonBuffer(16 * 1024).fill('c')
  for (const chunk of [Buffer.from('a'), Buffer.from('b'), common.subarray(0, 5_000), common.subarray(0, 1)]) kept.push(chunk)
  common.fill('x')
  let read = ''
  for (let chunk = kept.first; chunk; chunk = kept.first) {
    expect(chunk.buffer.byteLength).toBeLessThanOrEqual(Math.max(4_096, chunk.length))
    read += chunk.toString()
    kept.shift()
  }
  expect(read).toBe(`ab${'c'.repeat(5_001)}`)
})

test('small pieces hold no more than twice their bytes, and what lies in much larger memory is copied out of it', () => {
  const small = new KeptChunks()
  for (const bytes of [300, 1, 1, 3_000, 2_000]) {
    small.push(Buffer.alloc(bytes, 'x'))
    expect(small.first!.buffer.byteLength).toBeLessThanOrEqual(2 * small.first!.length)
  }
  expect([small.size, small.first!.length]).toEqual([2, 3_302])
  const read = emptyChunk(64 * 1024).fill('y')
  const large = new KeptChunks()
  for (const bytes of [5_000, 60_000]) large.push(partOf(read, 0, bytes))
  expect(large.shift()!.buffer.byteLength).toBe(5_000)
  expect(large.shift()!.buffer.byteLength).toBe(64 * 1024)
})
