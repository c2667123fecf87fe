import { randomBytes, X509Certificate } from 'node:crypto'
import { createServer, DEFAULT_CIPHERS, type Server } from 'node:tls'
import type { Hostname } from '../hostname.ts'
import { Lru } from '../lib/lru.ts'

/** What begins TLS with one certificate: feed it with `emit('connection')`. */
export type CertifiedServer = {
  server: Server
  /** Whether the certificate is valid for the hostname. */
  isFor(hostname: Hostname): boolean
}

export type TlsServersParts = {
  handshakeMs: number
  /** 48 bytes; made up when absent. */
  ticketKeys: Buffer | undefined
  /** Adds what listens to the connections of a new server. */
  listen(server: Server): void
  max?: number
}

/** Some 45 KB each. See decision 0066 for how many fit. */
const SERVERS_MAX = 3_000
const TICKET_KEYS_BYTES = 48
const SESSION_S = 24 * 60 * 60
/** A session resumes only where this is the same; node's own choice is made from the command line, which differs by where we are installed. */
const SESSION_CONTEXT = 'namesake'
/** AES-128 first, as browsers have it: with it goes SHA-256, which processors compute by themselves, for the dozens of key derivations of a handshake. */
const CIPHERS = ['TLS_AES_128_GCM_SHA256', ...DEFAULT_CIPHERS.split(':').filter((name) => name !== 'TLS_AES_128_GCM_SHA256')].join(':')

/**
 * One TLS server a certificate, made when a handshake first needs it: a bounded memory, whose least recently used one leaves. Making one costs
 * as much as half a handshake, and holding one costs memory outside of JavaScript; never is there one for each registered hostname.
 */
export function createTlsServers({ handshakeMs, ticketKeys, listen, max = SERVERS_MAX }: TlsServersParts) {
  const byCertificate = new Lru<string, CertifiedServer>(max)
  const settings = {
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    ticketKeys: ticketKeys ?? randomBytes(TICKET_KEYS_BYTES),
    sessionTimeout: SESSION_S,
    sessionIdContext: SESSION_CONTEXT,
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: handshakeMs,
  } as const
  let keys: Buffer = settings.ticketKeys
  let made = 0

  const make = (chainPem: string, keyPem: string): CertifiedServer => {
    made += 1
    const server = createServer({ ...settings, ticketKeys: keys, cert: chainPem, key: keyPem })
    listen(server)
    let names: readonly string[] | undefined
    return {
      server,
      isFor(hostname) {
        names ??= namesOf(chainPem)
        return names.some((name) => matches(name, hostname))
      },
    }
  }

  return {
    /** `id` changes whenever the certificate does. */
    serverFor({ id, chainPem, keyPem }: { id: string; chainPem: string; keyPem: string }): CertifiedServer {
      const known = byCertificate.get(id)
      if (known) return known
      const certified = make(chainPem, keyPem)
      byCertificate.set(id, certified)
      return certified
    },
    /** From the next handshake on; sessions of other keys begin anew. */
    setTicketKeys(newKeys: Buffer) {
      if (newKeys.equals(keys)) return
      keys = newKeys
      byCertificate.clear() // they hold the old ones
    },
    counts: () => ({ kept: byCertificate.size, made }),
  }
}

function namesOf(chainPem: string): readonly string[] {
  return (new X509Certificate(chainPem).subjectAltName ?? '')
    .split(', ')
    .filter((name) => name.startsWith('DNS:'))
    .map((name) => name.slice(4).toLowerCase())
}

function matches(name: string, hostname: string): boolean {
  return name === hostname || (name.startsWith('*.') && hostname.slice(hostname.indexOf('.') + 1) === name.slice(2))
}
