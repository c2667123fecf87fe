import type { Duplex } from 'node:stream'
import { commonBuffer } from '../../../src/edge/let-go.ts'
import { chunkOf } from '../telling-bytes.ts'

const READ_BYTES_MAX = 64 * 1024
const READ_INTO = commonBuffer(READ_BYTES_MAX)
const OVERWRITTEN_WITH = 0xee

/** Has the bytes arrive as they are read from a connection: in memory that the next read overwrites, or while nobody reads, in memory that stays. */
export function arrive(socket: Duplex, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; at += READ_BYTES_MAX) {
    const piece = bytes.subarray(at, at + READ_BYTES_MAX)
    if (socket.destroyed || socket.readableEnded) return
    if (socket.isPaused() || socket.readableLength > 0 || socket.listenerCount('data') === 0) {
      socket.push(chunkOf(piece))
      continue
    }
    piece.copy(READ_INTO)
    socket.emit('data', READ_INTO.subarray(0, piece.length))
    READ_INTO.fill(OVERWRITTEN_WITH, 0, piece.length)
  }
}
