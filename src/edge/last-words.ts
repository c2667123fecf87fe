import type { Socket } from 'node:net'

/**
 * What the other side said before it stopped listening may lie unread when a write to it fails: an application that refuses an upload answers and
 * closes. It is read before the failure ends the connection.
 */
export function hearLastWords(socket: Socket): void {
  const destroy = socket.destroy
  socket.destroy = (error?: NodeJS.ErrnoException) => {
    if (error?.syscall !== 'write') return destroy.call(socket, error)
    setImmediate(() => setImmediate(() => destroy.call(socket, error))) // a whole turn of the loop
    return socket
  }
}
