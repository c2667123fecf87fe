import type { TLSSocket } from 'node:tls'
import { keep } from './let-go.ts'
import { readIntoShared, readIntoStream, shared } from './own-reads.ts'
import { READS_ARE_PUSHED, type Take, takePushed } from './pushed-reads.ts'

/**
 * Hands what arrives on a visitor's connection to `take`, nothing while the socket is paused; each chunk is its own. Returns how to end that:
 * from then on it goes into the stream. All connections are read into one buffer where that is possible, a tenth of what a small request costs.
 */
export function takeVisitorBytes(socket: TLSSocket, take: Take): () => void {
  return borrowVisitorBytes(socket, (chunk) => take(keep(chunk)))
}

/** As takeVisitorBytes, for who needs most of it within the call alone: the chunk is not copied first, and what is to be kept has to be (`keep`). */
export function borrowVisitorBytes(socket: TLSSocket, take: Take): () => void {
  if (READS_ARE_PUSHED) return takePushed(socket, take)
  const arrived = (bytes: number): boolean => {
    const chunk = shared.subarray(0, bytes)
    if (socket.isPaused() || socket.readableLength > 0) return socket.push(keep(chunk))
    take(chunk)
    return true
  }
  if (readIntoShared(socket, arrived)) socket.once('close', () => readIntoStream(socket)) // a closed socket may be there for long (lightenOnceClosed)
  socket.on('data', take) // what came before, or while it was paused
  return () => {
    readIntoStream(socket)
    socket.off('data', take)
  }
}
