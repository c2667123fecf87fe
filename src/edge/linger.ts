import type { Socket } from 'node:net'

const LINGER_MS = 1_000

/**
 * Ends a connection behind its last bytes, and closes it after `withinMs`, whatever the other side does. It is read on meanwhile: the other side's end is
 * seen by reading only, and bytes that lie unread at the close would take the last ones from it (RFC 9112 §9.6).
 */
export function endSoon(
  socket: Socket,
  { lastBytes, withinMs = LINGER_MS }: { lastBytes?: string | Buffer; withinMs?: number } = {},
): void {
  closeWithin(socket, withinMs)
  if (lastBytes === undefined) socket.end()
  else socket.end(lastBytes)
  socket.resume()
}

/** Closes a connection that is still open after `ms`. */
export function closeWithin(socket: Socket, ms: number): void {
  const timer = setTimeout(() => socket.destroy(), ms)
  socket.once('close', () => clearTimeout(timer))
}
