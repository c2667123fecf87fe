import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { createServer, type Server, type TLSSocket, type TlsOptions } from 'node:tls'
import { type ExactHostname, type Hostname, readHostname } from '../hostname.ts'
import { limitKeyUpdates } from '../lib/key-updates.ts'
import { createSeldom } from '../lib/seldom.ts'
import type { Log } from '../log.ts'
import type { CertificateText } from './certificate-text.ts'
import type { ChallengeSource } from './challenge-source.ts'
import { createChallengeTls } from './challenge-tls.ts'
import { holdBack, isValidation, peekClientHello } from './client-hello.ts'
import { lightenOnceClosed } from './closed-sockets.ts'
import type { VisitorConnection } from './engine.ts'
import { endSoon } from './linger.ts'
import type { HandshakeOutcome } from './metrics.ts'
import { forgetOfferedProtocols } from './offered-protocols.ts'
import { Patience } from './patience.ts'
import { readProxyHeader } from './proxy-protocol.ts'
import { type Certified, createSecureContexts, TLS_SETTINGS } from './secure-contexts.ts'
import { setTicketKeys } from './ticket-keys.ts'
import { TCP_KEEP_ALIVE_MS } from './timeouts.ts'
import { forgoTimeout } from './untimed-sockets.ts'

export type CertificateAnswer =
  /** `id` changes whenever the certificate does. */
  ({ kind: 'certificate'; id: string } & CertificateText) | { kind: 'refused'; reason: string }

type Shown = CertificateAnswer & { kind: 'certificate' }

/** Who is told of a certificate: by its address, and whether it still waits. */
export type WaitingClient = { address: string; onceGone(listener: () => void): void }

export type TlsParts = {
  log: Log
  edgeHost: Hostname
  certificateFor(hostname: Hostname, client: WaitingClient): CertificateAnswer | Promise<CertificateAnswer>
  /** Told of every name that was asked for, before its certificate is. */
  onName(hostname: Hostname, peer: string): void
  challenges: ChallengeSource
  onConnection(socket: TLSSocket, connection: VisitorConnection): void
  onOutcome(outcome: HandshakeOutcome): void
  handshakeMs: number
  /** What the certificates that are ready for handshakes may take at the moment. */
  contextBytesMax(): number
  /** 48 bytes shared by all processes and machines, so that sessions resume everywhere; made up when absent. */
  ticketKeys: Buffer | undefined
}

/** What was learnt of a connection before its TLS; node does not say the name of a resumed TLS 1.2 session. */
type Arrival = {
  peer: string
  /** As it was sent. */
  sni: string | undefined
  servername: ExactHostname | undefined
  /** Made ready when it is first asked for: a session that resumes shows no certificate. Undefined when it cannot be used, which is logged. */
  certified(): Certified | undefined
  handshakeEnded(): void
}

/** Where a connection's Arrival stands: on its TCP socket, which node and Bun keep below the TLS socket as `_parent`. */
const ARRIVAL = Symbol('arrival')
type TcpSocket = Socket & { [ARRIVAL]?: Arrival | undefined }

/** Fatal handshake_failure (RFC 8446 §6.2), before any key exists. */
const REFUSAL = Buffer.from([21, 3, 3, 0, 2, 2, 40])
/** Fatal no_application_protocol (RFC 7301 §3.2). */
const NO_PROTOCOL = Buffer.from([21, 3, 3, 0, 2, 2, 120])
const TICKET_KEYS_BYTES = 48
const PROXY_HEADER =
  'connections that began with a header of the PROXY protocol, where TLS was expected, were refused. If the load balancer in front speaks it, set NAMESAKE_PROXY_PROTOCOL=required; where that is set, let one proxy alone speak it'

/**
 * Ends TLS for visitors. The ClientHello is looked at before TLS begins: a name that nobody registered costs one alert and no cryptography, and
 * a handshake may wait for its certificate without holding TLS state. A name has its own certificate or none; without a name it is the
 * edge host's. An authority that validates by TLS-ALPN-01 is told apart only while a challenge is pending, or where it would have to wait.
 */
export function createTls(parts: TlsParts) {
  let ticketKeys = parts.ticketKeys ?? randomBytes(TICKET_KEYS_BYTES)
  const contexts = createSecureContexts(parts.contextBytesMax)
  const validations = createChallengeTls(parts)
  const seldom = createSeldom() // anybody can ask for a name whose key cannot be opened, as often as they like
  const notServed = (error: unknown) =>
    seldom((handshakes) => parts.log.error({ err: error, handshakes }, 'a handshake could not be served'))
  const seldomProxies = createSeldom()
  /** Of what is no TLS at all: a load balancer of whom nobody told us would lose every visitor without a word. */
  const noteProxy = (socket: Socket, client: string) => {
    const first = socket.read() as Buffer | null
    if (first && readProxyHeader(first).kind === 'header')
      seldomProxies((connections) => parts.log.warn({ client, connections }, PROXY_HEADER))
  }
  let nameless: { id: string; leafPem: string; server: Server } | undefined

  const serverWith = (more: TlsOptions): Server => {
    const server = createServer({
      ...TLS_SETTINGS,
      ticketKeys,
      ALPNProtocols: ['h2', 'http/1.1'],
      handshakeTimeout: parts.handshakeMs,
      ...more,
    })
    server.on('secureConnection', (socket) => {
      const arrival = arrivalOf(socket)
      socket.on('error', () => socket.destroy())
      if (!arrival) return void socket.destroy() // it closed while its handshake ended
      arrival.handshakeEnded()
      parts.onOutcome(socket.isSessionReused() ? 'resumed' : 'completed')
      lightenOnceClosed(socket)
      forgoTimeout(socket)
      socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS)
      forgetOfferedProtocols(socket)
      limitKeyUpdates(socket)
      parts.onConnection(socket, toConnection(arrival))
    })
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
      parts.onOutcome(error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT' ? 'timeout' : 'failed')
      socket.destroy()
    })
    return server
  }

  const named = serverWith({
    SNICallback(this: TLSSocket, servername, answer) {
      const arrival = arrivalOf(this)
      answer(null, arrival?.sni === servername ? arrival.certified()?.context : undefined) // without one it ends by an alert
    },
  })

  const namelessServer = ({ id, leafPem, issuersPem, keyPem }: Shown): Server => {
    if (nameless?.id === id && nameless.leafPem === leafPem) return nameless.server // a database that was promoted may say a version a second time
    nameless = { id, leafPem, server: serverWith({ cert: leafPem + issuersPem, key: keyPem }) }
    return nameless.server
  }

  /** Keeps what is known of the connection until it has closed, and its certificate until its handshake has ended: what was shown then is its own. */
  const remember = (socket: TcpSocket, known: Pick<Arrival, 'peer' | 'sni' | 'servername'>, answer: Shown) => {
    let ready: Certified | undefined
    let isUnderWay = true
    const certified = () => {
      if (ready) return ready
      try {
        ready = contexts.certify(answer)
      } catch (error) {
        return void notServed(error)
      }
      if (isUnderWay) ready.hold()
      return ready
    }
    const handshakeEnded = () => {
      if (isUnderWay) ready?.release()
      isUnderWay = false
    }
    socket[ARRIVAL] = { ...known, certified, handshakeEnded }
    socket.once('close', () => {
      socket[ARRIVAL] = undefined
      handshakeEnded()
    })
    lightenOnceClosed(socket)
  }

  /** `endOf`: how it came to its end when it was closed on the way. */
  const negotiate = async (socket: Socket, peer: string, endOf: () => 'timeout' | 'gone'): Promise<void> => {
    const hello = await peekClientHello(socket)
    if (hello.kind === 'incomplete') return refuse(socket, endOf())
    if (hello.kind === 'unreadable') {
      noteProxy(socket, peer)
      return refuse(socket, 'failed')
    }
    const reading = hello.servername === undefined ? undefined : readHostname(hello.servername)
    if (reading?.kind === 'invalid') return refuse(socket, 'refused')
    if (parts.challenges.arePending() && isValidation(hello)) return validate(socket, reading?.hostname, endOf)
    const hostname = reading?.hostname ?? parts.edgeHost
    parts.onName(hostname, peer)
    const asked = parts.certificateFor(hostname, { address: peer, onceGone: (listener) => onceClosed(socket, listener) })
    // Nobody's validation waits for the certificate that it is to bring.
    if (asked instanceof Promise && isValidation(hello)) {
      asked.catch(() => {})
      return refuse(socket, 'refused', NO_PROTOCOL)
    }
    const answer = asked instanceof Promise ? await heldBack(socket, asked) : asked
    if (socket.destroyed) return parts.onOutcome(endOf())
    if (answer.kind === 'refused') return refuse(socket, 'refused')
    remember(socket, { peer, sni: hello.servername, servername: reading?.hostname }, answer)
    const server = reading ? named : namelessServer(answer)
    server.emit('connection', socket)
  }

  const validate = async (socket: Socket, hostname: Hostname | undefined, endOf: () => 'timeout' | 'gone'): Promise<void> => {
    const certificate = await (hostname && parts.challenges.challengeFor(hostname))
    if (!certificate) return refuse(socket, 'refused', NO_PROTOCOL)
    if (socket.destroyed) return parts.onOutcome(endOf())
    validations.serve(socket, certificate)
  }

  const refuse = (socket: Socket, outcome: HandshakeOutcome, alert = REFUSAL) => {
    parts.onOutcome(outcome)
    endSoon(socket, { lastBytes: alert }) // ten thousand refusals a second leave nothing behind
  }

  return {
    /** From the next handshake on; sessions of other keys begin anew. */
    setTicketKeys(keys: Buffer) {
      if (keys.equals(ticketKeys)) return
      ticketKeys = keys
      setTicketKeys(named, keys)
      setTicketKeys(nameless?.server, keys)
    },
    /** `peer`: as VisitorConnection has it. Who hands the socket over listens to its errors. */
    accept(socket: Socket, peer: string) {
      let isLate = false
      const stop = new Patience(parts.handshakeMs).wait(() => {
        isLate = true
        socket.destroy()
      })
      negotiate(socket, peer, () => (isLate ? 'timeout' : 'gone'))
        .catch((error) => {
          notServed(error)
          refuse(socket, 'failed')
        })
        .finally(stop)
    },
    counts: contexts.counts,
  }
}

function onceClosed(socket: Socket, listener: () => void): void {
  if (socket.closed) listener()
  else socket.once('close', listener)
}

/** A visitor that goes away meanwhile is noticed, which it is by reading only. */
async function heldBack<T>(socket: Socket, waiting: Promise<T>): Promise<T> {
  const giveBack = holdBack(socket)
  try {
    return await waiting
  } finally {
    giveBack()
  }
}

function toConnection({ peer, servername, certified }: Arrival): VisitorConnection {
  const covers = (hostname: Hostname) => hostname === servername || (servername !== undefined && certified()?.isFor(hostname) === true)
  return { servername, peer, covers }
}

function arrivalOf(socket: TLSSocket): Arrival | undefined {
  return (socket as unknown as { _parent: TcpSocket | null })._parent?.[ARRIVAL]
}
