import { Socket } from 'node:net'

export type Take = (chunk: Buffer) => void

/** Bun's sockets push each read into their stream in a buffer of its own: reading into ours would copy it twice. */
export const READS_ARE_PUSHED = process.versions.bun !== undefined

/**
 * Hands what the socket pushes into its stream to `take` instead, nothing while it is paused. Returns how to end that: from then on the socket is a
 * stream like any other. It spares what a stream does with a chunk that somebody waits for.
 */
export function takePushed(socket: Socket, take: Take): () => void {
  socket.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (chunk === null || socket.isPaused() || socket.readableLength > 0) return Socket.prototype.push.call(socket, chunk, encoding)
    take(chunk)
    return true
  }
  socket.on('data', take) // what came before, or while it was paused
  return () => {
    Reflect.deleteProperty(socket, 'push')
    socket.off('data', take)
  }
}
