import type { Socket } from 'node:net'
import { createServer, type Server } from 'node:tls'
import { limitKeyUpdates } from '../lib/key-updates.ts'
import { Lru } from '../lib/lru.ts'
import type { ChallengeCertificate } from './challenge-source.ts'
import { ACME_TLS } from './client-hello.ts'
import { endSoon } from './linger.ts'

const SERVERS_MAX = 200

export type ChallengeTlsParts = { handshakeMs: number; onOutcome(outcome: 'validated' | 'failed' | 'timeout'): void }

/**
 * Ends TLS for an authority that validates a hostname: it is shown the challenge's certificate under the protocol acme-tls/1, and the connection
 * closes when the handshake is complete (RFC 8737 §3). Nothing of it is shared with what serves visitors, tickets included.
 */
export function createChallengeTls({ handshakeMs, onOutcome }: ChallengeTlsParts) {
  const servers = new Lru<string, Server>(SERVERS_MAX)

  const serverOf = ({ certPem, keyPem }: ChallengeCertificate): Server => {
    const known = servers.get(certPem)
    if (known) return known
    const settings = { ALPNProtocols: [ACME_TLS], minVersion: 'TLSv1.2', handshakeTimeout: handshakeMs } as const
    const server = createServer({ cert: certPem, key: keyPem, ...settings })
    server.on('secureConnection', (socket) => {
      onOutcome('validated')
      socket.on('error', () => socket.destroy())
      limitKeyUpdates(socket)
      endSoon(socket, { withinMs: handshakeMs }) // no application data is meant to come, and none is kept
    })
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
      onOutcome(error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT' ? 'timeout' : 'failed')
      socket.destroy()
    })
    servers.set(certPem, server)
    return server
  }

  return {
    serve(socket: Socket, certificate: ChallengeCertificate) {
      serverOf(certificate).emit('connection', socket)
    },
  }
}
