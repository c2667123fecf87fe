import { createServer, type IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { EngineParts, VisitorConnection } from './engine.ts'
import { Http1Exchange } from './http1-exchange.ts'
import { readHttp1Head } from './http1-head.ts'
import { REQUEST_HEAD_BYTES_MAX, REQUEST_TIMES_CHECKED_EVERY_MS } from './request-limits.ts'

/** An idle connection may have sent a request that is still on its way when we begin to drain. */
const IDLE_GRACE_MS = 2_000

type Visit = {
  socket: TLSSocket
  connection: VisitorConnection
  /** Pipelined requests are served one after the other: in any other order a POST could overtake the GET behind it. */
  waiting: (() => void)[]
  isBusy: boolean
}

/** HTTP/1.1 and 1.0 by node:http, fed with connections whose TLS is done. */
export function createHttp1Server({ timeouts, onExchange }: EngineParts) {
  const visits = new Map<Duplex, Visit>()
  let isDraining = false
  const isLast = () => isDraining
  const common = { isLast, lastBytesMs: timeouts.bodyIdleMs }

  const server = createServer({
    maxHeaderSize: REQUEST_HEAD_BYTES_MAX,
    insecureHTTPParser: false,
    headersTimeout: timeouts.requestHeadMs,
    requestTimeout: 0, // an upload may take hours; the idle time of its body is what counts
    connectionsCheckingInterval: REQUEST_TIMES_CHECKED_EVERY_MS,
    keepAliveTimeout: timeouts.keepAliveMs,
    keepAliveTimeoutBuffer: 0,
    requireHostHeader: false, // looked at below, with the same words for every protocol
    highWaterMark: 64 * 1024,
    shouldUpgradeCallback: isTunnelRequest,
  })
  server.maxHeadersCount = 0 // node would cut the rest off in silence; http1-head.ts refuses instead
  server.timeout = 0
  // Without a listener of its own, this is what makes node:http watch the times of its connections.
  server.emit('listening')

  const serveNext = (visit: Visit) => {
    const next = visit.waiting.shift()
    visit.isBusy = next !== undefined
    next?.()
    if (visit.waiting.length === 0) visit.socket.resume()
  }

  const receive = (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean) => {
    const visit = visits.get(request.socket)
    if (!visit) return void request.socket.destroy()
    const begin = () => {
      if (visit.socket.destroyed) return // its visitor went while it waited for its turn
      const head = readHttp1Head(request)
      const exchange = new Http1Exchange({ request, response, head, connection: visit.connection, expectsContinue, ...common })
      response.once('close', () => serveNext(visit))
      if (head.kind === 'refused') exchange.refuse(head.status)
      else onExchange(exchange)
    }
    if (!visit.isBusy) {
      visit.isBusy = true
      return begin()
    }
    visit.waiting.push(begin)
    visit.socket.pause()
  }

  server.on('request', (request, response) => receive(request, response, false))
  server.on('checkContinue', (request, response) => receive(request, response, true))
  server.on('checkExpectation', (_request, response) => response.writeHead(417, { 'content-length': 0 }).end())
  const refuse = (socket: Duplex, status: number) => {
    // While an answer is on its way, another one could only fall into the middle of it.
    if (visits.get(socket)?.isBusy) socket.destroy()
    else refuseRaw(socket, status)
  }
  server.on('connect', (_request, socket) => refuse(socket, 405))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuse(socket, statusOf(error.code)))
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, behind: Buffer) => {
    const visit = visits.get(socket)
    if (!visit || visit.isBusy) return void socket.destroy()
    visit.isBusy = true
    // As long as nobody has agreed to change protocols this is an ordinary exchange, and the last one of its connection.
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(visit.socket)
    response.once('finish', () => visit.socket.destroySoon())
    socket.on('error', () => socket.destroy())
    const head = readHttp1Head(request)
    const exchange = new Http1Exchange({ request, response, head, connection: visit.connection, expectsContinue: false, ...common, behind })
    if (head.kind === 'refused') exchange.refuse(head.status)
    else onExchange(exchange)
  })

  return {
    serve(socket: TLSSocket, connection: VisitorConnection) {
      visits.set(socket, { socket, connection, waiting: [], isBusy: false })
      socket.once('close', () => visits.delete(socket))
      server.emit('connection', socket)
    },
    drain() {
      isDraining = true
      const timer = setTimeout(() => {
        for (const visit of visits.values()) if (!visit.isBusy) visit.socket.destroySoon()
      }, IDLE_GRACE_MS)
      timer.unref()
    },
    destroy() {
      for (const visit of visits.values()) visit.socket.destroy()
      server.close()
    },
    count: () => visits.size,
  }
}

/** Through a tunnel of HTTP a visitor would send requests that nobody has looked at, alone or in a list with other protocols. */
const HTTP_PROTOCOL = /^(h\dc?|http)(\/|$)/i

/** Only a GET without a body can become a tunnel; h2c upgrades and all others are served as if not asked for (RFC 9110 §7.8). */
function isTunnelRequest(request: IncomingMessage): boolean {
  const { upgrade, 'transfer-encoding': encoding, 'content-length': length } = request.headers
  if (request.method !== 'GET' || request.httpVersion !== '1.1' || !upgrade) return false
  return encoding === undefined && (length ?? '0') === '0' && !upgrade.split(',').some((protocol) => HTTP_PROTOCOL.test(protocol.trim()))
}

function statusOf(code: string | undefined): number {
  if (code === 'HPE_HEADER_OVERFLOW') return 431
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413
  return 400
}

/** For connections that node:http has let go of: one short answer, and the end. */
function refuseRaw(socket: Duplex, status: number): void {
  if (!socket.writable || socket.destroyed) return void socket.destroy()
  socket.once('error', () => socket.destroy())
  socket.end(`HTTP/1.1 ${status} ${REASONS[status] ?? 'Bad Request'}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () =>
    socket.destroy(),
  )
}

const REASONS: Record<number, string> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Content Too Large',
  431: 'Request Header Fields Too Large',
}
