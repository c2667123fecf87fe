import type { TLSSocket } from 'node:tls'

/** New keys are for hundreds of gigabytes (RFC 8446 §5.5), or for an hour. */
const KEY_UPDATES_MAX = 100
/** How OpenSSL's log of keys calls those that follow the first ones, of either side. */
const NEXT_KEYS = '_TRAFFIC_SECRET_N '

const COUNT = Symbol('key updates')
type Counted = TLSSocket & { [COUNT]?: number }

/**
 * Ends a connection whose other side takes new keys (KeyUpdate, RFC 8446 §4.6.3) more often than anybody needs. OpenSSL follows for as long as they
 * come, 27 bytes each, and node tells of none: they are seen in the log of keys alone. Bun's TLS ends such connections itself.
 */
export function limitKeyUpdates(socket: TLSSocket): void {
  socket.on('keylog', countKeys) // the same listener for all: a connection at rest holds nothing for it
}

function countKeys(this: Counted, line: Buffer): void {
  if (!line.includes(NEXT_KEYS)) return
  this[COUNT] = (this[COUNT] ?? 0) + 1
  if (this[COUNT] > KEY_UPDATES_MAX) this.destroy()
}
