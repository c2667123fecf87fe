import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ReadRequest } from './llhttp.ts'

/** A request that arrived whole at the application behind the edge. */
export type Arrival = ReadRequest & { number: number; host: string }

export type Recorder = {
  url: string
  port: number
  /** Takes the arrivals for this host so far; hosts are compared as the edge compares them. */
  take(hostname: string): Arrival[]
  /** Arrivals for hosts that nobody has taken, which nobody should have sent. */
  left(): Arrival[]
  /** Why node:http refused what came, for each time. */
  refused: string[]
  arrived(): number
  stop(): Promise<void>
}

/** The field that names the arrival which an answer is for. */
export const ARRIVAL_FIELD = 'x-arrival'

/** The field by which node:http tells that what came is no HTTP to it, and why. */
export const REFUSAL_FIELD = 'x-refusal'

/** A node:http server that keeps what arrives and answers each request with its number and host, in the fields and in the body. */
export async function startRecorder(): Promise<Recorder> {
  const byHost = new Map<string, Arrival[]>()
  const refused: string[] = []
  const sockets = new Set<Socket>()
  let arrived = 0
  const record = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    request.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      arrived += 1
      const host = request.headers.host ?? ''
      const arrival: Arrival = {
        number: arrived,
        host,
        method: request.method ?? '',
        target: request.url ?? '',
        isHttp11: request.httpVersion === '1.1',
        fields: request.rawHeaders,
        body: Buffer.concat(chunks).toString('latin1'),
        trailers: request.rawTrailers,
      }
      const key = hostnameOf(host)
      byHost.set(key, [...(byHost.get(key) ?? []), arrival])
      const text = `${arrived} ${host}`
      // Behind a request that asked for an upgrade node:http says nothing to what it cannot read, as if the connection had been handed over.
      if (request.headers.upgrade !== undefined) response.setHeader('connection', 'close')
      response.writeHead(200, { [ARRIVAL_FIELD]: text, 'content-length': text.length }).end(text)
    })
  }
  const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, record)
  server.maxHeadersCount = 0
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Whose connection ended before its request did has not sent anything wrong.
    if (error.code === 'ECONNRESET' || error.code === 'HPE_INVALID_EOF_STATE') return void socket.destroy()
    refused.push(String(error.code))
    socket.end(`HTTP/1.1 400 Bad Request\r\n${REFUSAL_FIELD}: ${error.code}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    take(hostname) {
      const arrivals = byHost.get(hostname) ?? []
      byHost.delete(hostname)
      return arrivals
    },
    left: () => [...byHost.values()].flat(),
    refused,
    arrived: () => arrived,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function hostnameOf(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}
