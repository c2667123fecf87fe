import type { Hostname } from '../hostname.ts'
import { createAddressSet } from '../lib/addresses.ts'
import type { LineSink, Log } from '../log.ts'
import { type ConnectionCeilings, createAdmission } from './admission.ts'
import { createBridge } from './bridge.ts'
import type { ChallengeSource } from './challenge-source.ts'
import { createEngine, type Http2Engine } from './engine.ts'
import type { ErrorPageBrand } from './error-page.ts'
import type { FindHost, HostAnswer } from './host.ts'
import { type Listen, startListeners } from './listeners.ts'
import type { EdgeCounts, EdgeMetrics } from './metrics.ts'
import { createPort80 } from './port80.ts'
import { createServe } from './serve.ts'
import { TIMEOUTS, type Timeouts } from './timeouts.ts'
import { type CertificateAnswer, createTls, type WaitingClient } from './tls.ts'
import { createTunnels } from './tunnel.ts'
import { createTurn } from './turn.ts'
import { createUpstreamChannels } from './upstream-channels.ts'
import { createConnect } from './upstream-connect.ts'
import { createUpstreamGuard } from './upstream-guard.ts'
import { createUpstreamHttp2Pools } from './upstream-http2-pools.ts'
import { createUpstreamPools } from './upstream-pools.ts'
import { createUpstreamRoom } from './upstream-room.ts'

export type EdgeParts = {
  log: Log
  accessLog: LineSink
  metrics: EdgeMetrics
  listen: { http: Listen[]; https: Listen[] }
  publicHttpsPort: number
  edgeHost: Hostname
  findHost: FindHost
  /** Another number whenever `findHost` may have another answer than before; without it, or while it is NaN, each request asks. */
  hostsRevision?(): number
  /** How a project's page for a failed exchange looks; asked only when one is sent. */
  brandOf(projectId: string): ErrorPageBrand | undefined
  certificateFor(hostname: Hostname, client: WaitingClient): CertificateAnswer | Promise<CertificateAnswer>
  /** Of HTTP-01, for a hostname that is served here. */
  answerChallenge(token: string): string | undefined
  /** Of TLS-ALPN-01. */
  challenges: ChallengeSource
  upstream: {
    allowPrivate: boolean
    sourceIps: string[]
    ownAddresses: string[]
    isServedHere(hostname: Hostname): boolean | Promise<boolean>
    /** Trust roots for https upstreams besides the well-known ones, PEM. */
    ca?: string[]
  }
  /** For how long GET, HEAD and OPTIONS wait for an upstream that cannot be reached; 0: not at all. */
  bridgeMs: number
  trustedProxies: string[]
  proxyProtocol: 'off' | 'required'
  /** Without: as many connections as come. */
  ceilings?: ConnectionCeilings
  http2Engine: Http2Engine
  /** The share of requests that the access log shows, 0 to 1. */
  accessLogSample: number
  /** A visitor came for a hostname whose claim is not verified yet. */
  unverifiedVisit(claimed: Hostname): void
  /** What the certificates that are ready for handshakes may take at the moment. Without: 100 MB. */
  contextBytesMax?(): number
  /** 48 bytes; see createTls. */
  ticketKeys?: Buffer
  timeouts?: Partial<Timeouts>
}

export type Edge = {
  ports: { http: number[]; https: number[] }
  report(): EdgeCounts
  /** 48 bytes, the same on all processes and machines: sessions that were begun with them resume here. */
  setTicketKeys(keys: Buffer): void
  /** Takes nothing new, lets what runs end for up to `drainMs`, then cuts the rest. Tunnels and event streams, which would be left by then, are cut little by little in the last third of it. */
  stop(drainMs: number): Promise<void>
}

const CONTEXT_BYTES_MAX = 100_000_000
const CLOSING_TURNS_MAX = 20
const NO_CEILINGS: ConnectionCeilings = { processMax: 0, perClientMax: 0 }

/**
 * The reverse proxy: TLS for every hostname that is served here, HTTP/1.1 and HTTP/2, requests routed by host to upstreams. It asks nobody
 * but the functions it was given. Rejects when an address cannot be listened on.
 */
export async function startEdge(parts: EdgeParts): Promise<Edge> {
  const { log, metrics, edgeHost, findHost, unverifiedVisit, proxyProtocol, ceilings = NO_CEILINGS } = parts
  const timeouts = { ...TIMEOUTS, ...parts.timeouts }
  const ownPorts: number[] = [parts.publicHttpsPort] // the guard sees those that are added once they are known
  const guard = createUpstreamGuard({ ...parts.upstream, ownPorts })
  const { sourceIps, ca = [] } = parts.upstream
  const turn = createTurn()
  const room = createUpstreamRoom(ceilings.upstreamMax)
  const connect = room.bounding(createConnect({ guard, connectTimeoutMs: timeouts.connectMs, sourceIps, ca }))
  const poolParts = { turn, room, connect, timeouts }
  const channels = createUpstreamChannels(
    createUpstreamPools({ ...poolParts, visitorsMax: ceilings.processMax }),
    createUpstreamHttp2Pools(poolParts),
  )
  const bridge = createBridge({ bridgeMs: parts.bridgeMs, log, probe: channels.probe, onHeldEnd: metrics.heldEnded })
  const tunnels = createTunnels(timeouts.bodyIdleMs)
  const trustedProxies = createAddressSet(parts.trustedProxies)
  const admission = createAdmission({ log, ceilings, trustedProxies, onTurnedAway: metrics.turnedAway })
  const serving = createServe({ ...parts, turn, trustedProxies, loadOf: admission.loadOf, channels, bridge, tunnels })
  const engine = createEngine({ timeouts, turn, onExchange: serving.serve, http2ErrorSent: metrics.http2ErrorSent }, parts.http2Engine)
  const noteVisit = (hostname: Hostname, client: string): void => {
    try {
      const host = findHost(hostname, client)
      if (host instanceof Promise) host.then(noteHost).catch(() => {})
      else noteHost(host)
    } catch {
      // Whoever asks for the certificate or the host next meets the same failure, and says so.
    }
  }
  const noteHost = (host: HostAnswer): void => {
    if (host.kind === 'route' && !host.route.verified) unverifiedVisit(host.route.hostname)
  }

  const tls = createTls({
    log,
    edgeHost,
    certificateFor: parts.certificateFor,
    challenges: parts.challenges,
    onName: noteVisit,
    onConnection: engine.serve,
    onOutcome: metrics.handshakeEnded,
    handshakeMs: timeouts.handshakeMs,
    contextBytesMax: parts.contextBytesMax ?? (() => CONTEXT_BYTES_MAX),
    ticketKeys: parts.ticketKeys,
  })
  const port80 = createPort80({ ...parts, trustedProxies, timeouts })

  // Port 80 first: a certificate authority may call as soon as a first handshake asks for a certificate.
  const listening = { log, proxyProtocol, admission }
  const http = await startListeners(parts.listen.http, { ...listening, onSocket: port80.accept })
  const https = await startListeners(parts.listen.https, { ...listening, onSocket: tls.accept }).catch(async (error) => {
    await http.close()
    throw error
  })
  ownPorts.push(...http.ports, ...https.ports)

  const report = (): EdgeCounts => ({
    admission: admission.counts(),
    ...engine.counts(),
    tunnels: tunnels.count(),
    exchanges: serving.count(),
    upstream: channels.counts(),
    bridge: bridge.counts(),
    tls: tls.counts(),
  })
  metrics.watch(report)

  return {
    ports: { http: http.ports, https: https.ports },
    report,
    setTicketKeys: tls.setTicketKeys,
    async stop(drainMs) {
      const closed = Promise.all([https.close(), http.close()])
      admission.drain()
      port80.drain()
      engine.drain()
      bridge.drain()
      serving.drain(drainMs)
      if (!(await isWithin(drainMs, closed))) serving.stop()
      serving.destroy()
      tunnels.destroy()
      engine.destroy()
      https.destroy()
      http.destroy()
      port80.close()
      bridge.destroy()
      channels.destroy()
      await closed
      await untilNone(serving.count)
    },
  }
}

/** Gives what was cut the turns of the loop in which its sockets say that they are closed, those of TLS some later than others. */
async function untilNone(count: () => number): Promise<void> {
  for (let turns = 0; turns < CLOSING_TURNS_MAX; turns += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    if (count() === 0) return
  }
}

function isWithin(ms: number, task: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false)
    const end = () => {
      clearTimeout(timer)
      resolve(true)
    }
    task.then(end, end)
  })
}
