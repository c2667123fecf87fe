import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { type Hostname, readHostname } from '../hostname.ts'
import type { AddressSet } from '../lib/addresses.ts'
import { Lru } from '../lib/lru.ts'
import type { LineSink, Log } from '../log.ts'
import { createAccessLog, pathOf } from './access-log.ts'
import { clientAddress } from './client-address.ts'
import type { Exchange } from './engine.ts'
import { type Forwarded, forward } from './forward.ts'
import { hasLooped, requestHead } from './forwarded-fields.ts'
import { type FindHost, type HostAnswer, hostOf, isSameTenant } from './host.ts'
import type { EdgeMetrics } from './metrics.ts'
import { livenessPage, page, sendPage } from './pages.ts'
import type { createTunnels } from './tunnel.ts'
import { readUpstream, type Upstream } from './upstream.ts'
import type { UpstreamPools } from './upstream-pools.ts'

export type ServeParts = {
  log: Log
  accessLog: LineSink
  metrics: EdgeMetrics
  edgeHost: Hostname
  findHost: FindHost
  unverifiedVisit(claimed: Hostname): void
  trustedProxies: AddressSet
  accessLogSample: number
  pools: UpstreamPools
  tunnels: ReturnType<typeof createTunnels>
}

type Visit = {
  exchange: Exchange
  requestId: string
  client: string
  startedAt: number
  hostname: string
  project: string | undefined
  outcome: Forwarded
  tunnelBytes: number
}

const RETRY_AFTER_S = '5'
const UPSTREAMS_MAX = 1_000 // read anew for the next request when they are more

/**
 * Decides what each request gets, anew for every request: nothing is remembered from the handshake but the certificate's names. In this
 * order: methods that no proxy should pass, loops, the authority against the connection, then the host.
 */
export function createServe(parts: ServeParts) {
  const logAccess = createAccessLog(parts.accessLog, parts.accessLogSample)
  const open = new Set<Visit>()
  const upstreams = new Lru<string, Upstream>(UPSTREAMS_MAX)

  const upstreamOf = (url: string, owner: string | undefined): Upstream => {
    const key = `${owner ?? ''} ${url}`
    const known = upstreams.get(key)
    if (known) return known
    const upstream = readUpstream(url, 'http1', owner)
    upstreams.set(key, upstream)
    return upstream
  }

  const close = (visit: Visit) => {
    if (!open.delete(visit)) return
    const { exchange, outcome } = visit
    const totalMs = performance.now() - visit.startedAt
    parts.metrics.requestEnded(outcome.status, totalMs / 1000)
    if (outcome.failure) parts.metrics.upstreamFailed(outcome.failure)
    logAccess(() => ({
      requestId: visit.requestId,
      hostname: visit.hostname,
      project: visit.project,
      method: exchange.method,
      path: pathOf(exchange.target),
      protocol: exchange.protocol,
      client: visit.client,
      status: outcome.status,
      bytes: exchange.bytesSent + visit.tunnelBytes,
      upstreamMs: outcome.upstreamMs,
      totalMs,
      error: outcome.failure,
    }))
  }

  const answer = (visit: Visit, status: number, error?: string, fields?: string[]) => {
    visit.outcome.status = status
    sendPage(visit.exchange, page(status, error, fields))
  }

  const answerRoot = (visit: Visit) => {
    if (pathOf(visit.exchange.target) !== '/') return answer(visit, 404, 'not-found')
    visit.outcome.status = 200
    sendPage(visit.exchange, livenessPage())
  }

  const proxy = (visit: Visit, hostname: Hostname, upstreamUrl: string, projectId: string | undefined) => {
    const { exchange } = visit
    const head = requestHead(exchange, { requestId: visit.requestId, isTrusted: parts.trustedProxies.has(exchange.connection.peer) })
    visit.outcome = forward({ pools: parts.pools, onTunnel }, exchange, { upstream: upstreamOf(upstreamUrl, projectId), head })

    function onTunnel({ upstream, behind }: { upstream: Socket; behind: Buffer }) {
      const { socket, head: behindRequest } = exchange.takeOver()
      const onClose = (bytes: number) => {
        visit.tunnelBytes = bytes
        close(visit)
      }
      parts.tunnels.open({
        visitor: socket,
        upstream,
        behindRequest,
        behindAnswer: behind,
        isServed: () => stillLeads(hostname, projectId),
        onClose,
      })
    }
  }

  const stillLeads = async (hostname: Hostname, projectId: string | undefined): Promise<boolean> => {
    const host = await parts.findHost(hostname)
    if (host.kind === 'route') return host.route.projectId === projectId
    return host.kind === 'service' || host.kind === 'unavailable'
  }

  const serveHost = (visit: Visit, hostname: Hostname, host: HostAnswer) => {
    switch (host.kind) {
      case 'route':
        visit.project = host.route.projectSlug
        if (!host.route.verified) parts.unverifiedVisit(host.route.hostname)
        return proxy(visit, hostname, host.route.upstreamUrl, host.route.projectId)
      case 'service':
        return proxy(visit, hostname, host.upstreamUrl, undefined)
      case 'edge-root':
        return answerRoot(visit)
      case 'unknown':
        return answer(visit, 404, 'unknown-hostname')
      case 'unavailable':
        return answer(visit, 503, 'unavailable', ['Retry-After', RETRY_AFTER_S])
    }
  }

  const decide = async (visit: Visit): Promise<void> => {
    const { method, fields, authority, connection } = visit.exchange
    if (method === 'TRACE' || method === 'CONNECT') return answer(visit, 405, 'method')
    if (hasLooped(fields)) return answer(visit, 508, 'loop')
    const reading = readHostname(hostOf(authority))
    if (reading.kind === 'hostname') visit.hostname = reading.hostname
    if (connection.servername === undefined) {
      // Such a connection has the edge host's certificate and is good for the liveness text only.
      return reading.kind === 'hostname' && reading.hostname !== parts.edgeHost ? answer(visit, 421, 'misdirected') : answerRoot(visit)
    }
    if (reading.kind === 'invalid' || !connection.covers(reading.hostname)) return answer(visit, 421, 'misdirected')
    const found = parts.findHost(reading.hostname)
    const host = found instanceof Promise ? await found : found
    if (reading.hostname !== connection.servername && !isSameTenant(host, await parts.findHost(connection.servername))) {
      return answer(visit, 421, 'misdirected')
    }
    serveHost(visit, reading.hostname, host)
  }

  return {
    serve(exchange: Exchange) {
      const client = clientAddress(exchange.connection.peer, exchange.fields, parts.trustedProxies)
      const outcome = { status: 0, upstreamMs: undefined, failure: undefined }
      const visit: Visit = {
        exchange,
        requestId: randomUUID(),
        client,
        startedAt: performance.now(),
        hostname: '',
        project: undefined,
        outcome,
        tunnelBytes: 0,
      }
      open.add(visit)
      exchange.onClose(() => close(visit))
      decide(visit).catch((error) => {
        parts.log.error({ err: error, requestId: visit.requestId }, 'a request could not be served')
        exchange.abort()
      })
    },
    count: () => open.size,
  }
}
