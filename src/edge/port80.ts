import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Hostname, readHostname } from '../hostname.ts'
import { isAuthority } from '../lib/authority.ts'
import { Members } from '../lib/members.ts'
import type { Log } from '../log.ts'
import { type ChallengeLogParts, createChallengeLog, type PlainVisit } from './challenge-log.ts'
import { type FindHost, hostOf } from './host.ts'
import { closeWithin, endSoon } from './linger.ts'
import type { EdgeMetrics } from './metrics.ts'
import { type Page, page, pageOf } from './pages.ts'
import { readPlainHead } from './port80-head.ts'
import { createPlainTimes } from './port80-times.ts'
import { REQUEST_HEAD_BYTES_MAX, REQUEST_TIMES_CHECKED_EVERY_MS } from './request-limits.ts'
import { LEAVING_MS, type Timeouts } from './timeouts.ts'

export type Port80Parts = ChallengeLogParts & {
  log: Log
  metrics: Pick<EdgeMetrics, 'port80Answered'>
  findHost: FindHost
  answerChallenge(token: string): string | undefined
  unverifiedVisit(claimed: Hostname): void
  publicHttpsPort: number
  timeouts: Timeouts
}

const CHALLENGE = /^\/\.well-known\/acme-challenge\/([A-Za-z0-9_-]{1,512})$/
const DEFAULT_HTTPS_PORT = 443
/** What node:http finds wrong with a connection; the rest is no HTTP. */
const REFUSED_WITH: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }

/** Plain HTTP: the certificate authority's challenges, and the way to https for registered hostnames. */
export function createPort80(parts: Port80Parts) {
  let isDraining = false
  let leaving: NodeJS.Timeout | undefined
  const sockets = new Members<Socket>()
  const peers = new WeakMap<Socket, string>()
  const lastAsked = new WeakMap<Socket, { request: IncomingMessage; answered: Promise<unknown> }>()
  const server = createServer({
    maxHeaderSize: REQUEST_HEAD_BYTES_MAX,
    insecureHTTPParser: false,
    headersTimeout: parts.timeouts.requestHeadMs,
    requestTimeout: parts.timeouts.requestHeadMs, // no request here has a body worth waiting for
    connectionsCheckingInterval: REQUEST_TIMES_CHECKED_EVERY_MS,
    keepAliveTimeout: parts.timeouts.keepAliveMs,
    requireHostHeader: false,
    shouldUpgradeCallback: () => false, // whoever asks for HTTP/2 or a WebSocket is shown the way to https like all others
  })
  server.maxHeadersCount = 0
  server.timeout = parts.timeouts.requestHeadMs + parts.timeouts.keepAliveMs // also for who asks and never reads the answer
  server.emit('listening') // it has no listener of its own, and this starts the watch over its connections' times
  const logChallenge = createChallengeLog(parts)
  const refuseCounted = (socket: Socket, status: number) => {
    if (refuse(socket, status)) parts.metrics.port80Answered(status)
  }
  const times = createPlainTimes(parts.timeouts, (socket, hasAsked) => (hasAsked ? void socket.destroy() : refuseCounted(socket, 408)))
  server.on('request', (request, response) => {
    const { socket } = request
    const answered = new Promise((resolve) => response.once('close', resolve))
    lastAsked.set(socket, { request, answered })
    times.asked(socket)
    const visit: PlainVisit = {
      request,
      peer: peers.get(socket)!,
      startedAt: performance.now(),
      target: '',
      hostname: '',
      project: undefined,
    }
    let bytesSent = 0
    void answered.then(() => {
      times.answered(socket)
      logChallenge(visit, response, bytesSent)
    })
    decide(parts, visit)
      .catch((error) => {
        parts.log.error({ err: error }, 'a plain HTTP request could not be served')
        return page(503)
      })
      .then((answer) => {
        if (isDraining) response.shouldKeepAlive = false
        parts.metrics.port80Answered(answer.head.status)
        bytesSent = send(request, response, answer)
      })
      .catch(() => socket.destroy())
  })
  server.on('checkContinue', (request, response) => {
    response.shouldKeepAlive = false // the visitor may send the body or not, and what comes next could be either (RFC 9110 §10.1.1)
    server.emit('request', request, response)
  })
  const refuseNext = (socket: Socket, status: number) => {
    const last = lastAsked.get(socket)
    if (!last) refuseCounted(socket, status)
    else if (last.request.complete) void last.answered.then(() => refuseCounted(socket, status))
    else void last.answered.then(() => end(socket)) // it is the last one's body that is malformed, and behind its answer nobody waits for another
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuseNext(socket as Socket, REFUSED_WITH[error.code ?? ''] ?? 400))
  server.on('connect', (_request, socket) => {
    // node:http watches over its times no more, and the answers that come before this one may never leave.
    closeWithin(socket as Socket, parts.timeouts.requestHeadMs)
    refuseNext(socket as Socket, 405)
  })
  return {
    /** `peer`: as VisitorConnection has it. */
    accept(socket: Socket, peer: string) {
      peers.set(socket, peer)
      const place = sockets.add(socket)
      socket.once('close', () => sockets.delete(place))
      times.opened(socket)
      server.emit('connection', socket)
    },
    /** Closes connections that rest, and the others behind their next answer: they do not wait for a request for long any more. */
    drain() {
      isDraining = true
      server.closeIdleConnections()
      leaving = setTimeout(() => {
        for (const socket of sockets.all()) refuseNext(socket, 408)
      }, LEAVING_MS)
    },
    /** Ends the watch over connections' times. */
    close() {
      clearTimeout(leaving)
      server.close()
    },
  }
}

/** What is found out about the visit is noted in it. */
async function decide(parts: Port80Parts, visit: PlainVisit): Promise<Page> {
  const head = readPlainHead(visit.request)
  if (head.kind === 'refused') return page(head.status)
  visit.target = head.target
  const reading = readHostname(hostOf(head.authority))
  if (reading.kind === 'invalid') return isAuthority(head.authority) ? page(404, 'unknown-hostname') : page(400)
  const { hostname } = reading
  visit.hostname = hostname
  const host = await parts.findHost(hostname, visit.peer)
  if (host.kind === 'route') visit.project = host.route.projectSlug
  if (host.kind === 'unknown') return page(404, 'unknown-hostname')
  if (host.kind === 'unavailable') return page(503, 'unavailable', ['Retry-After', '5'])
  if (host.kind === 'route' && !host.route.verified) parts.unverifiedVisit(host.route.hostname)
  const token = CHALLENGE.exec(head.target)?.[1]
  if (token !== undefined) return challengePage(parts.answerChallenge(token))
  return redirectPage(parts, hostname, head.target)
}

function challengePage(answer: string | undefined): Page {
  if (answer === undefined) return page(404, 'unknown-challenge')
  return pageOf(200, answer, ['application/octet-stream'])
}

function redirectPage({ publicHttpsPort }: Port80Parts, hostname: Hostname, target: string): Page {
  const port = publicHttpsPort === DEFAULT_HTTPS_PORT ? '' : `:${publicHttpsPort}`
  return page(308, undefined, ['Location', `https://${hostname}${port}${target === '*' ? '/' : target}`])
}

/** Says how many bytes of body it sends. */
function send(request: IncomingMessage, response: ServerResponse, { head, body }: Page): number {
  response.sendDate = false
  response.writeHead(head.status, head.reason, [...head.fields.list, 'Content-Length', String(body.length)])
  const sent = request.method === 'HEAD' ? Buffer.alloc(0) : body
  response.end(sent)
  return sent.length
}

/** Ends the connection with a page; one on which nothing was ever said, without a word. To be called behind the answers to what came before. Whether a page went out. */
function refuse(socket: Socket, status: number): boolean {
  if (socket.bytesRead === 0) {
    socket.destroy()
    return false
  }
  const { head, body } = page(status)
  const lines = `${head.fields.lines}Connection: close\r\nContent-Length: ${body.length}\r\n`
  return end(socket, { lastBytes: `HTTP/1.1 ${status} ${head.reason}\r\n${lines}\r\n${body}` })
}

/** Once: node:http finds the same fault again in each further piece of what is not HTTP. False: it had ended. */
function end(socket: Socket, last?: { lastBytes: string }): boolean {
  const { writable } = socket
  if (writable) endSoon(socket, last)
  else if (!socket.writableEnded) socket.destroy()
  return writable
}
