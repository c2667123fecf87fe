import { DEFAULT_CIPHERS } from 'node:tls'

/**
 * For TLS towards servers of others: Node's ciphers without Diffie-Hellman over a field of the server's choice (`DHE`, TLS 1.2), which may be as
 * large as it likes: one of 9,600 bits stands the event loop still for seconds, before anybody asks whose certificate it is. Bun's TLS has none.
 */
export const CLIENT_CIPHERS: { ciphers?: string } = process.versions.bun === undefined ? { ciphers: `${DEFAULT_CIPHERS}:!DHE` } : {}
