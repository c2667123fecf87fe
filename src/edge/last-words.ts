import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** Linux says EPIPE of a connection whose other side had ended it, properly, before it stopped listening; of any other it says ECONNRESET once. */
const TELLS_ENDED = process.platform === 'linux' && process.versions.bun === undefined

/**
 * What the other side said before it stopped listening may lie unread when a write to it fails: an application that refuses an upload answers and
 * closes. It is read before the failure ends the connection: without TLS all up to its end where that has arrived, however late whoever wants it reads on.
 */
export function hearLastWords(socket: Socket): void {
  const destroy = socket.destroy
  socket.destroy = (error?: NodeJS.ErrnoException) => {
    if (error?.syscall !== 'write') return destroy.call(socket, error)
    const end = () => void destroy.call(socket, error)
    const isEndOnItsWay = TELLS_ENDED && error.code === 'EPIPE' && !socket.readableEnded && !(socket instanceof TLSSocket) // whose errors are not the kernel's own
    if (isEndOnItsWay) {
      readOn(socket)
      socket.once('end', end)
    } else {
      setImmediate(() => setImmediate(end)) // a whole turn of the loop
    }
    return socket
  }
}

/** A stream that failed in one direction tells nothing more of the other one, neither bytes nor their end. */
function readOn(socket: Socket): void {
  const { _readableState: state } = socket as unknown as { _readableState: { errored: Error | null } }
  state.errored = null
}
