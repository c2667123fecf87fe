import type { Hostname } from '../hostname.ts'
import type { AddressSet } from '../lib/addresses.ts'
import { isAuthority } from '../lib/authority.ts'
import { Lru } from '../lib/lru.ts'
import type { Place } from '../lib/members.ts'
import type { LineSink, Log } from '../log.ts'
import { createAccessLog, pathOf } from './access-log.ts'
import type { Admission } from './admission.ts'
import type { Bridge } from './bridge.ts'
import { clientAddress } from './client-address.ts'
import { type ConnectionView, createConnectionViews } from './connection-view.ts'
import type { Exchange } from './engine.ts'
import { acceptsHtml, type ErrorPageBrand, renderErrorPage } from './error-page.ts'
import { type Exchanging, type ForwardParts, forward } from './forward.ts'
import { type FindHost, type HostAnswer, type HostRoute, isSameTenant } from './host.ts'
import { createLastingWatch } from './lasting.ts'
import type { EdgeMetrics } from './metrics.ts'
import { noOutcome, noteFailure, type Outcome, type VisitorLoss } from './outcome.ts'
import { htmlPage, livenessPage, page, sendPage } from './pages.ts'
import { createRequestIds, type RequestId } from './request-ids.ts'
import { spreadEnds } from './spread-ends.ts'
import type { createTunnels } from './tunnel.ts'
import type { Turn } from './turn.ts'
import { readUpstream, type Upstream, UpstreamFailure, type UpstreamProtocol } from './upstream.ts'
import type { UpstreamChannels } from './upstream-channels.ts'

export type ServeParts = {
  log: Log
  accessLog: LineSink
  metrics: EdgeMetrics
  edgeHost: Hostname
  findHost: FindHost
  hostsRevision?(): number
  brandOf(projectId: string): ErrorPageBrand | undefined
  unverifiedVisit(claimed: Hostname): void
  trustedProxies: AddressSet
  loadOf: Admission['loadOf']
  accessLogSample: number
  channels: UpstreamChannels
  bridge: Bridge
  turn: Turn
  tunnels: ReturnType<typeof createTunnels>
}

type Visit = {
  exchange: Exchange
  view: ConnectionView
  requestId: RequestId
  client: string
  startedAt: number
  hostname: Hostname | ''
  project: string | undefined
  projectId: string | undefined
  outcome: Outcome
  tunnelBytes: number
  isClosed: boolean
  hasFailed: boolean
  /** Undefined while nothing has been sent on. */
  exchanging: Exchanging | undefined
  /** The revision of all hosts at which its own was found to lead to the same project. */
  servedAsOf: number | undefined
  place: Place<Visit> | undefined
}

/** Where a request goes; without a project to the service itself. */
type Destination = { upstreamUrl: string; upstreamProtocol?: UpstreamProtocol; projectId?: string }

const RETRY_AFTER_S = '5'
const UPSTREAMS_MAX = 1_000 // read anew for the next request when they are more

/**
 * Decides what each request gets, anew for every request: nothing is remembered from the handshake but the certificate's names, and where the
 * connection's own name leads only until some host changes. In this order: methods that no proxy should pass, loops, the authority against the connection, then the host.
 */
export function createServe(parts: ServeParts) {
  const logAccess = createAccessLog(parts.accessLog, parts.accessLogSample, parts.turn.timeMs)
  const viewOf = createConnectionViews(parts.trustedProxies, parts.loadOf)
  const nextRequestId = createRequestIds()
  let isStopped = false
  let stopSpreading: (() => void) | undefined
  const hostsRevision = () => parts.hostsRevision?.() ?? Number.NaN
  const upstreams = new Lru<string, { url: string; upstream: Upstream }>(UPSTREAMS_MAX)

  /** A project has one upstream at a time: asked for by its id alone, which spares putting a key together for each request. */
  const upstreamOf = ({ upstreamUrl, upstreamProtocol = 'http1', projectId }: Destination): Upstream => {
    const owner = projectId ?? ''
    const known = upstreams.peek(owner)
    if (known && known.url === upstreamUrl && known.upstream.protocol === upstreamProtocol) return known.upstream
    const upstream = readUpstream(upstreamUrl, upstreamProtocol, projectId)
    upstreams.set(owner, { url: upstreamUrl, upstream })
    return upstream
  }

  const close = (visit: Visit, refusal?: number) => {
    if (visit.isClosed) return
    visit.isClosed = true
    visits.delete(visit.place!)
    const { outcome, view } = visit
    if (view.load) view.load.exchanges -= 1
    if (refusal !== undefined) {
      outcome.status = refusal
      outcome.visitor = undefined // it is there, and was told
    } else if (outcome.status === 0 && !outcome.failure && !visit.hasFailed) outcome.visitor ??= 'visitor-gone' // before anything was decided
    if (isStopped && outcome.visitor === 'visitor-gone') outcome.visitor = 'edge-stopped'
    const totalMs = parts.turn.nowMs() - visit.startedAt
    parts.metrics.requestEnded(outcome.status, totalMs / 1000)
    if (outcome.failure) parts.metrics.upstreamFailed(outcome.failure)
    logAccess(visit, totalMs)
  }

  const answer = (visit: Visit, status: number, error?: string, fields?: string[]) => {
    visit.outcome.status = status
    sendPage(visit.exchange, page(status, error, fields, visit.requestId))
  }

  /** Answers with a page that a person understands, where a person asked. */
  const explain = (visit: Visit, status: number, error: string | undefined, fields: string[]) => {
    const { exchange, hostname, requestId, projectId } = visit
    if (!error || !acceptsHtml(exchange.fields.accept)) return sendPage(exchange, page(status, error, fields, requestId))
    const brand = projectId === undefined ? undefined : parts.brandOf(projectId)
    const canReload = exchange.method === 'GET' || exchange.method === 'HEAD'
    sendPage(
      exchange,
      htmlPage(status, renderErrorPage({ status, hostname, requestId: String(requestId), brand, canReload }), error, fields),
    )
  }

  const answerRoot = (visit: Visit) => {
    if (pathOf(visit.exchange.target) !== '/') return answer(visit, 404, 'not-found')
    visit.outcome.status = 200
    sendPage(visit.exchange, livenessPage())
  }

  const proxy = (visit: Visit, destination: Destination) => {
    const { exchange, requestId, view } = visit
    const fields = view.forwardedFields(exchange.fields, exchange.authority, requestId)
    visit.projectId = destination.projectId
    visit.exchanging = forward(forwarding, visit, { upstream: upstreamOf(destination), fields })
  }

  const forwarding: ForwardParts<Visit> = {
    channels: parts.channels,
    bridge: parts.bridge,
    turn: parts.turn,
    onTunnel(visit, { upstream, behind }) {
      const { socket, head: behindRequest } = visit.exchange.takeOver()
      const onClose = (bytes: number, cutFor?: VisitorLoss | UpstreamFailure) => {
        visit.tunnelBytes = bytes
        if (cutFor instanceof UpstreamFailure) noteFailure(visit.outcome, cutFor)
        else visit.outcome.visitor ??= cutFor
        close(visit)
      }
      visit.exchanging = {
        isEndless: true,
        cut(reason) {
          visit.outcome.visitor = reason
          socket.destroy()
        },
      }
      parts.tunnels.open({ visitor: socket, upstream, behindRequest, behindAnswer: behind, onClose })
    },
    async upstreamNow(visit, upstream) {
      const destination = await destinationNow(visit)
      return destination === 'unavailable' ? upstream : destination && upstreamOf(destination)
    },
    refuse(visit, { status, error, retryAfterS }) {
      if (status === 404)
        answer(visit, 404, 'unknown-hostname') // as whoever comes now is told
      else explain(visit, status, error, retryAfterS === undefined ? [] : ['Retry-After', String(retryAfterS)])
    },
  }

  const visits = createLastingWatch<Visit>({
    isInDoubt: ({ exchanging, servedAsOf }) => exchanging !== undefined && servedAsOf !== hostsRevision(),
    isServed: async (visit) => (await destinationNow(visit)) !== undefined,
    cut: (visit) => visit.isClosed || visit.exchanging?.cut('hostname-gone'), // it may have ended while we looked, and its connection be another's
  })

  const fail = (visit: Visit, error: unknown) => {
    parts.log.error({ err: error, requestId: String(visit.requestId) }, 'a request could not be served')
    visit.hasFailed = true
    visit.exchange.abort()
  }

  /** Undefined: the hostname is not served any more, or is another project's. */
  async function destinationNow(visit: Visit): Promise<Destination | 'unavailable' | undefined> {
    const { hostname, projectId } = visit
    const revision = hostsRevision()
    const host: HostAnswer = hostname === '' ? { kind: 'unknown' } : await parts.findHost(hostname)
    if (host.kind === 'service') return { upstreamUrl: host.upstreamUrl }
    if (host.kind !== 'route') return host.kind === 'unavailable' ? 'unavailable' : undefined
    if (host.route.projectId !== projectId) return undefined
    if (mayBeKept(host.route, hostname)) visit.servedAsOf = revision
    return host.route
  }

  const serveHost = (visit: Visit, host: HostAnswer) => {
    switch (host.kind) {
      case 'route':
        visit.project = host.route.projectSlug
        if (!host.route.verified) parts.unverifiedVisit(host.route.hostname)
        return proxy(visit, host.route)
      case 'service':
        return proxy(visit, { upstreamUrl: host.upstreamUrl })
      case 'edge-root':
        return answerRoot(visit)
      case 'unknown':
        return answer(visit, 404, 'unknown-hostname')
      case 'unavailable':
        visit.outcome.status = 503
        return explain(visit, 503, 'unavailable', ['Retry-After', RETRY_AFTER_S])
    }
  }

  /** The host of the connection's own name: the one of the request before, as long as no host has changed. */
  const findOwnHost = ({ view, client }: Visit, servername: Hostname): HostAnswer | Promise<HostAnswer> => {
    const revision = hostsRevision()
    const kept = view.hostAt(revision)
    if (kept) return kept
    const host = parts.findHost(servername, client)
    if (!(host instanceof Promise) && host.kind === 'route' && mayBeKept(host.route, servername)) view.keepHost(host, revision)
    return host
  }

  const decide = (visit: Visit): void | Promise<void> => {
    const { method, fields, authority, connection } = visit.exchange
    const reading = visit.view.read(authority)
    if (reading.kind === 'hostname') visit.hostname = reading.hostname // before all that follows: the log says it whatever comes of it
    if (method === 'TRACE') return answer(visit, 405, 'method')
    if (fields.hasLooped) return answer(visit, 508, 'loop')
    if (reading.kind === 'invalid') return decideUnnamed(visit)
    if (connection.servername === undefined) {
      // Such a connection has the edge host's certificate and is good for the liveness text only.
      return reading.hostname === parts.edgeHost ? answerRoot(visit) : answer(visit, 421, 'misdirected')
    }
    if (reading.hostname !== connection.servername) return decideForeign(visit, reading.hostname, connection.servername)
    const host = findOwnHost(visit, connection.servername)
    return host instanceof Promise ? host.then((found) => serveHost(visit, found)) : serveHost(visit, host)
  }

  /** An authority without a hostname: an address, an empty one, or none at all (RFC 9112 §3.2). */
  const decideUnnamed = (visit: Visit): void => {
    const { authority, connection } = visit.exchange
    if (!isAuthority(authority)) answer(visit, 400)
    else if (connection.servername === undefined) answerRoot(visit)
    else answer(visit, 421, 'misdirected')
  }

  /** A hostname that is not the one in the handshake: its certificate must cover both, and both must be one tenant's. */
  const decideForeign = (visit: Visit, hostname: Hostname, servername: Hostname): void | Promise<void> => {
    if (!visit.exchange.connection.covers(hostname)) return answer(visit, 421, 'misdirected')
    const host = parts.findHost(hostname, visit.client)
    const first = findOwnHost(visit, servername)
    if (!(host instanceof Promise || first instanceof Promise)) return serveTenant(visit, host, first)
    return Promise.all([host, first]).then(([one, other]) => serveTenant(visit, one, other))
  }

  const serveTenant = (visit: Visit, host: HostAnswer, first: HostAnswer): void => {
    // 421 would have the visitor come again on a connection of its own, whose handshake could not be served.
    if (host.kind === 'unavailable' || isSameTenant(host, first)) serveHost(visit, host)
    else answer(visit, 421, 'misdirected')
  }

  return {
    serve(exchange: Exchange, refusedWith?: number) {
      const view = viewOf(exchange.connection)
      const { peer } = exchange.connection
      const visit: Visit = {
        exchange,
        view,
        requestId: (view.isTrusted ? exchange.fields.requestId : undefined) ?? nextRequestId(),
        client: view.isTrusted ? clientAddress(peer, exchange.fields.forwardedFor, parts.trustedProxies) : peer,
        startedAt: parts.turn.nowMs(),
        hostname: refusedWith === undefined ? '' : (exchange.connection.servername ?? ''),
        project: undefined,
        projectId: undefined,
        outcome: noOutcome(),
        tunnelBytes: 0,
        isClosed: false,
        hasFailed: false,
        exchanging: undefined,
        servedAsOf: undefined,
        place: undefined,
      }
      visit.place = visits.add(visit)
      if (view.load) view.load.exchanges += 1
      exchange.onClose((refusal) => {
        close(visit, refusal)
        return visit.requestId
      })
      if (refusedWith !== undefined) return answer(visit, refusedWith)
      try {
        const decided = decide(visit)
        if (decided) decided.catch((error) => fail(visit, error))
      } catch (error) {
        fail(visit, error)
      }
    },
    count: visits.count,
    /** The time in which all is to end begins; what has no end of its own is ended towards the end of it. */
    drain(withinMs: number) {
      stopSpreading = spreadEnds(withinMs, {
        all: () => visits.all().filter(({ exchanging }) => exchanging?.isEndless),
        end: (visit) => visit.exchanging!.cut('edge-stopped'),
      })
    },
    /** From now on it is the edge that ends what has not come to its end. */
    stop() {
      isStopped = true
    },
    destroy() {
      stopSpreading?.()
      visits.destroy()
    },
  }
}

/** Until some host changes. Whether a wildcard over the name is what counts is another question for a copy that is behind: it is asked each time. */
function mayBeKept(route: HostRoute, hostname: string): boolean {
  return route.hostname === hostname
}
