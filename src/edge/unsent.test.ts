import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { SpareBuffers } from './spare-buffers.ts'
import { Unsent } from './unsent.ts'

const GATHERED_BYTES_MAX = 32 * 1024
const BUFFERS = new SpareBuffers(GATHERED_BYTES_MAX, 2)

/** Takes writes as a socket does: what comes while it is corked comes as one. */
function createSocket() {
  const written: string[] = []
  const take = (chunks: Buffer[], done: () => void) => {
    written.push(Buffer.concat(chunks).toString('latin1'))
    done()
  }
  const socket = new Writable({
    write: (chunk, _encoding, done) => take([chunk], done),
    writev: (chunks, done) =>
      take(
        chunks.map(({ chunk }) => chunk),
        done,
      ),
  })
  return { socket: socket as never, written }
}

const large = (mark: string, bytes: number) => Buffer.alloc(bytes, mark)

test.each([
  ['text alone', ['head', 'body'], 'headbody'],
  ['a small piece', ['head', large('b', 100)], `head${'b'.repeat(100)}`],
  ['a large piece behind its head', ['h\u00e9ad', large('b', 5_000)], `h\u00e9ad${'b'.repeat(5_000)}`],
  ['text behind large pieces', ['1', large('b', 9_000), '2', large('c', 9_000), '3'], `1${'b'.repeat(9_000)}2${'c'.repeat(9_000)}3`],
  ['more text than the pieces leave room for', [large('b', 24_000), 'x'.repeat(9_000)], 'b'.repeat(24_000) + 'x'.repeat(9_000)],
  [
    'what fills it to the last byte',
    [large('b', 24_000), 'x'.repeat(GATHERED_BYTES_MAX - 24_000)],
    'b'.repeat(24_000) + 'x'.repeat(GATHERED_BYTES_MAX - 24_000),
  ],
] as const)('%s leaves in one write, in order', (_what, parts, expected) => {
  const unsent = new Unsent(BUFFERS)
  const { socket, written } = createSocket()
  for (const part of parts) {
    if (typeof part === 'string') unsent.addText(part)
    else unsent.addPiece(part)
  }
  expect(unsent.length).toBe(expected.length)
  unsent.writeTo(socket)
  expect(written).toEqual([expected])
  expect(unsent.length).toBe(0)
})

test("a piece is the caller's again at once, and what was written is not touched before it has left", () => {
  const first = new Unsent(BUFFERS)
  const piece = large('a', 4_000)
  first.addPiece(piece)
  piece.fill('z')
  const held: { chunk: Buffer; done: () => void }[] = []
  const slow = new Writable({ write: (chunk, _encoding, done) => void held.push({ chunk, done }) })
  first.writeTo(slow as never)
  const second = new Unsent(BUFFERS)
  second.addPiece(large('b', 4_000))
  expect(held[0]!.chunk.toString()).toBe('a'.repeat(4_000))
})
