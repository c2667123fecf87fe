import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { SpareBuffers } from './spare-buffers.ts'
import { Unsent } from './unsent.ts'

const GATHERED_BYTES_MAX = 32 * 1024
const SMALL_BYTES = 2 * 1024
const createBuffers = () => ({ small: new SpareBuffers(SMALL_BYTES, 2), large: new SpareBuffers(GATHERED_BYTES_MAX, 2) })
const BUFFERS = createBuffers()

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

const added = (add: (unsent: Unsent) => void): string[] => {
  const unsent = new Unsent(BUFFERS)
  const { socket, written } = createSocket()
  add(unsent)
  unsent.writeTo(socket)
  return written
}

test('bytes and text leave in one write in the order in which they were added, short and long ones', () => {
  const long = '\u00e9'.repeat(100)
  const bytes = Buffer.from(`xx${long}abcyy`, 'latin1')
  const all = added((unsent) => {
    unsent.addText('1')
    unsent.addBytes(bytes, 102, 105)
    unsent.addText('2')
    unsent.addBytes(bytes, 2, 102)
    unsent.addText(long)
    unsent.addPiece(Buffer.from('small'))
    unsent.addText('')
  })
  expect(all).toEqual([`1abc2${long}${long}small`])
})

test('bytes for which there is no room leave too, behind the others', () => {
  const head = Buffer.alloc(GATHERED_BYTES_MAX + 10, 'h')
  const all = added((unsent) => {
    unsent.addText('1')
    unsent.addBytes(head, 0, 20_000)
    unsent.addBytes(head, 0, head.length)
    unsent.addText('2')
  })
  expect(all).toEqual([`1${'h'.repeat(20_000 + head.length)}2`])
})

test('text for which there was no room stays whole when more is to be put together as bytes', () => {
  const all = added((unsent) => {
    unsent.addBytes(Buffer.alloc(GATHERED_BYTES_MAX - 3, 'b'), 0, GATHERED_BYTES_MAX - 3)
    unsent.addText('0\r\n\r\n')
    unsent.gather()
    unsent.addText('GET')
  })
  expect(all).toEqual([`${'b'.repeat(GATHERED_BYTES_MAX - 3)}0\r\n\r\nGET`])
})

test('what a socket has not taken at once is not touched before it has left', () => {
  const buffers = createBuffers()
  const held: { chunk: Buffer; done: () => void }[] = []
  const slow = new Writable({ write: (chunk, _encoding, done) => void held.push({ chunk, done }) })
  const { socket: quick, written } = createSocket()
  for (const [socket, mark] of [
    [slow, 'a'],
    [slow, 'b'],
    [quick, 'c'],
    [quick, 'd'],
  ] as const) {
    const unsent = new Unsent(buffers, { areTakenAtOnce: true })
    unsent.gather()
    unsent.addText(mark.repeat(100))
    unsent.writeTo(socket as never)
  }
  expect(written).toEqual(['c'.repeat(100), 'd'.repeat(100)])
  expect(held[0]!.chunk.toString()).toBe('a'.repeat(100))
  held[0]!.done()
  expect(held[1]!.chunk.toString()).toBe('b'.repeat(100))
})

test('what outgrows a small buffer moves to a large one, text behind it too, and the small one serves the next', () => {
  const buffers = createBuffers()
  const one = new Unsent(buffers)
  const { socket, written } = createSocket()
  one.gather()
  one.addText('a'.repeat(SMALL_BYTES - 1))
  one.addText('bc')
  const other = new Unsent(buffers)
  one.addBytes(Buffer.alloc(10, 'd'), 0, 10)
  other.gather()
  other.addText('x'.repeat(SMALL_BYTES))
  one.addPiece(Buffer.alloc(GATHERED_BYTES_MAX - one.length, 'e'))
  expect(one.hasRoomFor(1)).toBe(false)
  other.writeTo(socket)
  one.writeTo(socket)
  const beginning = `${'a'.repeat(SMALL_BYTES - 1)}bc${'d'.repeat(10)}`
  expect(written).toEqual(['x'.repeat(SMALL_BYTES), beginning + 'e'.repeat(GATHERED_BYTES_MAX - beginning.length)])
})
