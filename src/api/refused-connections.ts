import { randomUUID } from 'node:crypto'
import { ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyInstance } from 'fastify'
import { ServiceError } from '../errors.ts'
import { PROBLEMS, problemDocument } from './problems.ts'

/** Answers what never became a request: broken HTTP, too large a head, a head that does not come. */
export function refuseConnection(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, detail } = refusalOf(error)
  const requestId = randomUUID()
  const body = JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status], status, code: 'request_malformed', detail, requestId })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `date: ${new Date().toUTCString()}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    'content-type: application/problem+json',
  ]
  socket.end(`${head.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

function refusalOf({ code, rawPacket, bytesParsed }: ConnectionError): { status: number; detail: string } {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, detail: 'the request did not arrive in time' }
    case 'HPE_INVALID_URL':
      return { status: 400, detail: 'the URL has characters that must be percent-encoded' }
    case 'HPE_HEADER_OVERFLOW': {
      // Of a head that came in pieces only the last is at hand: then it is the head that is too large.
      const isInTarget = Buffer.isBuffer(rawPacket) && /^[A-Z]+ \S+$/.test(rawPacket.toString('latin1', 0, bytesParsed))
      return isInTarget ? { status: 414, detail: 'the URL is too long' } : { status: 431, detail: 'the fields of the head are too large' }
    }
    default:
      return { status: 400, detail: 'this is not an HTTP request that can be read' }
  }
}

/**
 * Answers CONNECT, which asks for a tunnel (RFC 9110 §9.3.6) and comes to no route. Behind a request that is not answered yet it ends the
 * connection without a word, which else would be taken for that one's answer.
 */
export function refuseTunnels(app: FastifyInstance, baseUrl: URL): void {
  const refusal = new ServiceError(
    'method_not_allowed',
    'CONNECT is not allowed here: this is no proxy. Take it out of your proxy settings, and send requests for its paths',
  )
  app.server.on('connect', (request, stream) => {
    const socket = stream as Socket
    socket.on('error', () => socket.destroy())
    const response = new ServerResponse(request)
    try {
      response.assignSocket(socket)
    } catch {
      return void socket.destroy() // it has another answer to carry
    }
    response.shouldKeepAlive = false
    response.once('finish', () => socket.destroySoon())
    const requestId = randomUUID()
    const body = problemDocument(baseUrl, refusal, requestId)
    response.writeHead(PROBLEMS[refusal.code].status, {
      allow: 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'x-request-id': requestId,
      'cache-control': 'no-store',
      'content-type': 'application/problem+json',
      'content-length': body.length,
    })
    response.end(body)
  })
}
