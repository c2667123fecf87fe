import type { Server } from 'node:tls'

/** Bun's node:tls takes ticket keys and does nothing with them: a session resumes only in the process that began it. */
const ARE_SHARED = process.versions.bun === undefined

/** Gives a server the keys of its tickets from the next handshake on, 48 bytes, where the runtime lets us. */
export function setTicketKeys(server: Server | undefined, keys: Buffer): void {
  if (ARE_SHARED) server?.setTicketKeys(keys)
}
