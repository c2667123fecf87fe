import { Socket } from 'node:net'

export type Take = (chunk: Buffer) => void

/** Bun's sockets push each read into their stream in a buffer of its own: reading into ours would copy it twice. */
export const READS_ARE_PUSHED = process.versions.bun !== undefined

/**
 * Hands what the socket pushes into its stream to `take` instead, nothing while it is paused. Returns how to end that: from then on the socket is a
 * stream like any other. It spares what a stream does with a chunk that somebody waits for. One read of Bun's brings up to half a megabyte: it is told
 * at once when no more is wanted. Node reads again only for a stream that has taken a chunk since, and its next 64 KB may wait there.
 */
export function takePushed(socket: Socket, take: Take): () => void {
  socket.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (chunk === null || socket.isPaused() || socket.readableLength > 0) return Socket.prototype.push.call(socket, chunk, encoding)
    take(chunk)
    return !READS_ARE_PUSHED || !socket.isPaused()
  }
  socket.on('data', take) // what came before, or while it was paused
  return () => {
    Reflect.deleteProperty(socket, 'push')
    socket.off('data', take)
  }
}
