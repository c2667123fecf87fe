import { createHash } from 'node:crypto'
import { createServer as createHttpServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createNetServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

export type Seen = { method: string; url: string; fields: string[]; trailers: string[]; body: string; connection: number }

export type Upstream = {
  url: string
  port: number
  /** Requests whose body has arrived, in order. */
  seen: Seen[]
  /** Connections that were ever accepted. */
  connections(): number
  /** Closes kept connections that carry nothing at the moment. */
  closeIdle(): void
  stop(): Promise<void>
}

export type UpstreamOptions = {
  tls?: { chainPem: string; keyPem: string }
  /** Takes over some requests; returns false for those that are to be handled as usual. */
  handle?: (request: IncomingMessage, response: ServerResponse) => boolean
  keepAliveMs?: number
}

/**
 * A real application server on a free loopback port. `/echo` and every path without a meaning answers with what it saw, as JSON; the paths below do what they say.
 */
export async function startUpstream(options: UpstreamOptions = {}): Promise<Upstream> {
  const seen: Seen[] = []
  const sockets = new Map<Socket, number>()
  let accepted = 0
  const listener: RequestListener = (request, response) => {
    if (!options.handle?.(request, response)) answer(request, response, seen, sockets.get(request.socket) ?? 0)
  }
  const server = options.tls
    ? createHttpsServer({ cert: options.tls.chainPem, key: options.tls.keyPem }, listener)
    : createHttpServer(listener)
  server.keepAliveTimeout = options.keepAliveMs ?? 60_000
  server.requestTimeout = 0
  server.on(options.tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    accepted += 1
    sockets.set(socket, accepted)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('upgrade', acceptUpgrade)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    seen,
    connections: () => accepted,
    closeIdle: () => server.closeIdleConnections(),
    async stop() {
      for (const socket of sockets.keys()) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function answer(request: IncomingMessage, response: ServerResponse, seen: Seen[], connection: number) {
  const url = new URL(request.url ?? '/', 'http://upstream')
  switch (url.pathname) {
    case '/status':
      response.writeHead(Number(url.searchParams.get('code'))).end(request.method === 'HEAD' ? undefined : 'body')
      return
    case '/bytes':
      return sendBytes(response, Number(url.searchParams.get('count')), url.searchParams.has('chunked'))
    case '/dies-counted':
      response.writeHead(200, { 'content-length': 1_000 }).write('only this')
      setTimeout(() => response.socket?.destroy(), 30)
      return
    case '/dies-chunked':
      response.writeHead(200).write('only this')
      setTimeout(() => response.socket?.destroy(), 30)
      return
    case '/dies-before':
      response.socket?.destroy()
      return
    case '/never':
      return
    case '/trailers':
      response.writeHead(200, { trailer: 'X-Checksum' }).write('body')
      response.addTrailers({ 'X-Checksum': 'abc' })
      response.end()
      return
    case '/count-upload':
      return countUpload(request, response)
    case '/echo-stream':
      response.writeHead(200)
      response.flushHeaders()
      request.pipe(response)
      return
    case '/early':
      response.writeHead(413, { 'content-length': 9 }).end('too large')
      return
    case '/swallow':
      request.resume()
      request.on('end', () => response.end('swallowed'))
      return
    default:
      return echo(request, response, seen, connection)
  }
}

function echo(request: IncomingMessage, response: ServerResponse, seen: Seen[], connection: number): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { method = '', url = '', rawHeaders: fields, rawTrailers: trailers } = request
    const entry = { method, url, fields, trailers, body: Buffer.concat(chunks).toString('latin1'), connection }
    seen.push(entry)
    response.setHeader('Content-Type', 'application/json')
    response.setHeader('Alt-Svc', 'h3=":443"')
    response.setHeader('X-Hop', 'of this hop')
    response.setHeader('Connection', request.headers['x-close'] ? 'close, X-Hop' : 'keep-alive, X-Hop')
    response.end(JSON.stringify(entry))
  })
}

function sendBytes(response: ServerResponse, count: number, chunked: boolean): void {
  const block = Buffer.alloc(64 * 1024, 'x')
  let left = count
  response.writeHead(200, chunked ? {} : { 'content-length': count })
  const send = () => {
    while (left > 0) {
      const size = Math.min(left, block.length)
      left -= size
      if (!response.write(size === block.length ? block : block.subarray(0, size))) {
        response.once('drain', send)
        return
      }
    }
    response.end()
  }
  send()
}

function countUpload(request: IncomingMessage, response: ServerResponse): void {
  const hash = createHash('sha256')
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    hash.update(chunk)
  })
  request.on('end', () => response.end(JSON.stringify({ bytes, sha256: hash.digest('hex') })))
}

/** Accepts a WebSocket, chooses the first subprotocol offered, then sends back every byte it gets, frames and all. */
function acceptUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
  socket.on('error', () => socket.destroy())
  if (request.url === '/no-upgrade') {
    socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 7\r\n\r\nrefused')
    return
  }
  const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  const protocol = request.headers['sec-websocket-protocol']?.split(',')[0]
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${accept}`]
  if (protocol) lines.push(`Sec-WebSocket-Protocol: ${protocol}`)
  lines.push(`X-Host: ${request.headers.host}`, '', '')
  socket.write(`${lines.join('\r\n')}first`)
  if (head.length > 0) socket.write(head)
  socket.pipe(socket)
}

export type RawUpstream = { url: string; port: number; connections: Socket[]; received: string[]; stop(): Promise<void> }

/** A server that speaks whatever bytes the test wants: `onRequest` is called each time a blank line has arrived on a connection. */
export async function startRawUpstream(onRequest: (socket: Socket, connection: number, text: string) => void): Promise<RawUpstream> {
  const connections: Socket[] = []
  const received: string[] = []
  const server = createNetServer((socket) => {
    const number = connections.push(socket)
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!text.includes('\r\n\r\n')) return
      received.push(text)
      const whole = text
      text = ''
      onRequest(socket, number, whole)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    connections,
    received,
    async stop() {
      for (const socket of connections) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
