import { expect, test } from 'vitest'
import { KeptChunks } from './kept-chunks.ts'
import { commonBuffer } from './let-go.ts'

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
