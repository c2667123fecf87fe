import { constants } from 'node:crypto'
import { createSecureContext, DEFAULT_CIPHERS, type SecureContext, type SecureContextOptions } from 'node:tls'

/**
 * Node's ciphers without Diffie-Hellman over a field of the server's choice (`DHE`, TLS 1.2), which may be as large as it likes: one of 9,600 bits
 * stands the event loop still for seconds, before anybody asks whose certificate it is. Bun's TLS has none.
 */
const CIPHERS: SecureContextOptions = process.versions.bun === undefined ? { ciphers: `${DEFAULT_CIPHERS}:!DHE` } : {}
/** A handshake behind the first one (TLS 1.2) would show certificates that nobody has looked at. */
const ONE_HANDSHAKE: SecureContextOptions = { secureOptions: constants.SSL_OP_NO_RENEGOTIATION }

/** For TLS with servers that anybody may have set up. */
export function contextForStrangers(more: SecureContextOptions = {}): SecureContext {
  return createSecureContext({ ...CIPHERS, ...ONE_HANDSHAKE, ...more })
}
