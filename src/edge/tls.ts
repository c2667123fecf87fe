import { randomBytes, X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import {
  createSecureContext,
  createServer,
  type SecureContext,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls'
import { type Hostname, readHostname } from '../hostname.ts'
import { unmapped } from '../lib/addresses.ts'
import { Lru } from '../lib/lru.ts'
import type { Log } from '../log.ts'
import type { ChallengeSource } from './challenge-source.ts'
import { createChallengeTls } from './challenge-tls.ts'
import { type ClientHello, isValidation, peekClientHello } from './client-hello.ts'
import type { VisitorConnection } from './engine.ts'
import type { HandshakeOutcome } from './metrics.ts'
import { setTicketKeys } from './ticket-keys.ts'

export type CertificateAnswer =
  /** `id` changes whenever the certificate does. */
  { kind: 'certificate'; chainPem: string; keyPem: string; id: string } | { kind: 'refused'; reason: string }

export type TlsParts = {
  log: Log
  edgeHost: Hostname
  certificateFor(hostname: Hostname, client: { address: string }): CertificateAnswer | Promise<CertificateAnswer>
  /** Told of every name that was asked for, before its certificate is. */
  onName(hostname: Hostname): void
  challenges: ChallengeSource
  onConnection(socket: TLSSocket, connection: VisitorConnection): void
  onOutcome(outcome: HandshakeOutcome): void
  handshakeMs: number
  /** 48 bytes shared by all processes and machines, so that sessions resume everywhere; made up when absent. */
  ticketKeys: Buffer | undefined
}

/** What was learnt of a connection before its TLS; node does not say the name of a resumed TLS 1.2 session. */
type Arrival = { peer: string; servername: Hostname | undefined }

type Certified = { context: SecureContext; chainPem: string; names: readonly string[] | undefined }

const CONTEXTS_MAX = 1_000 // about 30 KB each
const TICKET_KEYS_BYTES = 48
const SESSION_S = 24 * 60 * 60
/** Fatal handshake_failure (RFC 8446 §6.2), before any key exists. */
const REFUSAL = Buffer.from([21, 3, 3, 0, 2, 2, 40])
/** Fatal no_application_protocol (RFC 7301 §3.2). */
const NO_PROTOCOL = Buffer.from([21, 3, 3, 0, 2, 2, 120])
const LINGER_MS = 1_000

/**
 * Ends TLS for visitors. The ClientHello is looked at before TLS begins: a name that nobody registered costs one alert and no cryptography, and
 * a handshake may wait for its certificate without holding TLS state. A name has its own certificate or none; without a name it is the
 * edge host's. An authority that validates by TLS-ALPN-01 is told apart only while a challenge is pending, or where it would have to wait.
 */
export function createTls(parts: TlsParts) {
  const contexts = new Lru<string, Certified>(CONTEXTS_MAX)
  const current = new Lru<Hostname, Certified>(CONTEXTS_MAX)
  const arrivals = new Map<string, Arrival>()
  const settings = {
    minVersion: 'TLSv1.2',
    ticketKeys: parts.ticketKeys ?? randomBytes(TICKET_KEYS_BYTES),
    sessionTimeout: SESSION_S,
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: parts.handshakeMs,
    noDelay: true,
  } satisfies SecureContextOptions & TlsOptions
  const validations = createChallengeTls(parts)
  let nameless: { id: string; server: Server } | undefined

  const certify = (answer: CertificateAnswer & { kind: 'certificate' }): Certified => {
    const known = contexts.get(answer.id)
    if (known) return known
    const context = createSecureContext({ cert: answer.chainPem, key: answer.keyPem, ...settings })
    const certified = { context, chainPem: answer.chainPem, names: undefined }
    contexts.set(answer.id, certified)
    return certified
  }

  const toConnection = ({ peer, servername }: Arrival): VisitorConnection => ({
    servername,
    peer,
    covers: (hostname) =>
      hostname === servername || (servername !== undefined && namesOf(current.peek(servername)).some((name) => matches(name, hostname))),
  })

  const listen = (server: Server): Server => {
    server.on('secureConnection', (socket) => {
      const arrival = arrivals.get(addressesOf(socket))
      if (!arrival) return void socket.destroy() // it closed while its handshake ended
      parts.onOutcome(socket.isSessionReused() ? 'resumed' : 'completed')
      socket.on('error', () => socket.destroy())
      parts.onConnection(socket, toConnection(arrival))
    })
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
      parts.onOutcome(error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT' ? 'timeout' : 'failed')
      socket.destroy()
    })
    return server
  }

  const named = listen(
    createServer({
      ...settings,
      SNICallback(servername, answer) {
        const reading = readHostname(servername)
        answer(null, reading.kind === 'hostname' ? current.peek(reading.hostname)?.context : undefined)
      },
    }),
  )

  const serverFor = (
    hello: ClientHello & { kind: 'hello' },
    hostname: Hostname,
    answer: CertificateAnswer & { kind: 'certificate' },
  ): Server => {
    if (hello.servername !== undefined) {
      current.set(hostname, certify(answer))
      return named
    }
    if (nameless?.id !== answer.id)
      nameless = { id: answer.id, server: listen(createServer({ ...settings, cert: answer.chainPem, key: answer.keyPem })) }
    return nameless.server
  }

  const negotiate = async (socket: Socket, peer: string): Promise<void> => {
    const hello = await peekClientHello(socket)
    if (hello.kind !== 'hello') return refuse(socket, hello.kind === 'unreadable' ? 'failed' : 'timeout')
    const reading = hello.servername === undefined ? undefined : readHostname(hello.servername)
    if (reading?.kind === 'invalid') return refuse(socket, 'refused')
    if (parts.challenges.arePending() && isValidation(hello)) return validate(socket, reading?.hostname)
    const hostname = reading?.hostname ?? parts.edgeHost
    parts.onName(hostname)
    const asked = parts.certificateFor(hostname, { address: peer })
    // Nobody's validation waits for the certificate that it is to bring.
    if (asked instanceof Promise && isValidation(hello)) {
      asked.catch(() => {})
      return refuse(socket, 'refused', NO_PROTOCOL)
    }
    const answer = asked instanceof Promise ? await asked : asked
    if (socket.destroyed) return parts.onOutcome('timeout')
    if (answer.kind === 'refused') return refuse(socket, 'refused')
    const key = addressesOf(socket)
    arrivals.set(key, { peer, servername: reading?.hostname })
    socket.once('close', () => arrivals.delete(key))
    serverFor(hello, hostname, answer).emit('connection', socket)
  }

  const validate = async (socket: Socket, hostname: Hostname | undefined): Promise<void> => {
    const certificate = await (hostname && parts.challenges.challengeFor(hostname))
    if (!certificate) return refuse(socket, 'refused', NO_PROTOCOL)
    if (socket.destroyed) return parts.onOutcome('timeout')
    validations.serve(socket, certificate)
  }

  const refuse = (socket: Socket, outcome: HandshakeOutcome, alert = REFUSAL) => {
    parts.onOutcome(outcome)
    socket.setTimeout(LINGER_MS, () => socket.destroy()) // the socket's own, which ends with it: ten thousand refusals a second leave nothing behind
    socket.end(alert)
  }

  return {
    /** From the next handshake on; sessions of other keys begin anew. */
    setTicketKeys(keys: Buffer) {
      if (keys.equals(settings.ticketKeys)) return
      settings.ticketKeys = keys
      contexts.clear() // they hold the old ones
      setTicketKeys(named, keys)
      setTicketKeys(nameless?.server, keys)
    },
    /** `source`: the visitor's address when a proxy told it. */
    accept(socket: Socket, source: string | undefined) {
      socket.on('error', () => socket.destroy())
      const timer = setTimeout(() => socket.destroy(), parts.handshakeMs)
      negotiate(socket, source ?? unmapped(socket.remoteAddress ?? ''))
        .catch((error) => {
          parts.log.error({ err: error }, 'a handshake could not be served')
          refuse(socket, 'failed')
        })
        .finally(() => clearTimeout(timer))
    },
  }
}

function namesOf(certified: Certified | undefined): readonly string[] {
  if (!certified) return []
  certified.names ??= (new X509Certificate(certified.chainPem).subjectAltName ?? '')
    .split(', ')
    .filter((name) => name.startsWith('DNS:'))
    .map((name) => name.slice(4).toLowerCase())
  return certified.names
}

function matches(name: string, hostname: string): boolean {
  return name === hostname || (name.startsWith('*.') && hostname.slice(hostname.indexOf('.') + 1) === name.slice(2))
}

/** What tells a live TCP connection from all others, from both ends of its TLS. */
function addressesOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress} ${socket.localPort}`
}
