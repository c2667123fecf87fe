import type { TLSSocket } from 'node:tls'

/**
 * Has a connection whose handshake has ended let go of the protocols that it was offered (ALPN). Node copies the list for each connection, into memory
 * that many small buffers share: a few bytes held on to 64 KB for as long as the visitor stayed, some 2 KB for each one at rest.
 */
export function forgetOfferedProtocols(socket: TLSSocket): void {
  const { _tlsOptions: options } = socket as unknown as { _tlsOptions?: { ALPNProtocols?: Buffer | undefined } }
  if (options?.ALPNProtocols) options.ALPNProtocols = undefined
}
