import { request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import type { Socket } from 'node:net'
import { readUpstream, UpstreamFailure, type UpstreamProtocol } from '../edge/upstream.ts'
import { createConnect } from '../edge/upstream-connect.ts'
import type { UpstreamGuard } from '../edge/upstream-guard.ts'
import { explainConnection } from '../lib/connection-trouble.ts'
import { STATUS_BYTES_MAX } from '../lib/tls-look.ts'

/** What a try of an upstream comes to: its status, or a sentence on why there was none. */
type UpstreamCheck = { kind: 'answered'; status: number } | { kind: 'unreachable'; sentence: string }

const CONNECT_TIMEOUT_MS = 3_000
const ANSWER_TIMEOUT_MS = 5_000

/**
 * Asks an upstream for `/` by the edge's own way to it, with the same guard on its addresses. Never rejects, follows nothing, and reads
 * nothing but the status. `asker`: whose share of the look-ups it takes.
 */
export function createUpstreamCheck(guard: UpstreamGuard, sourceIps: readonly string[]) {
  const connect = createConnect({ guard, connectTimeoutMs: CONNECT_TIMEOUT_MS, sourceIps, ca: [], bytesMax: STATUS_BYTES_MAX })
  return async (url: URL, protocol: UpstreamProtocol, asker: string): Promise<UpstreamCheck> => {
    try {
      const socket = await connect(readUpstream(url.href, protocol, asker))
      return { kind: 'answered', status: await (protocol === 'http1' ? statusOf(url, socket) : http2StatusOf(url, socket)) }
    } catch (error) {
      return {
        kind: 'unreachable',
        sentence: `${url.origin} does not answer yet: ${inWords(error as Error)}. Visitors get a 502 until it does.`,
      }
    }
  }
}

function statusOf(url: URL, socket: Socket): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const headers = { host: url.host, 'user-agent': 'namesake-upstream-check', connection: 'close' }
  const asked = request({
    method: 'GET',
    path: '/',
    headers,
    createConnection: () => socket,
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  })
  asked.on('response', (response) => {
    resolve(response.statusCode!)
    socket.destroy()
  })
  asked.on('upgrade', ({ statusCode }) => {
    resolve(statusCode!)
    socket.destroy()
  })
  asked.on('error', (error) => {
    socket.destroy()
    reject(error.name === 'AbortError' || error.name === 'TimeoutError' ? tooLate() : error)
  })
  asked.end()
  return promise
}

function http2StatusOf(url: URL, socket: Socket): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  // What is pushed would be streams of their own, to whose errors nobody listens.
  const session = connectHttp2(url.origin, { createConnection: () => socket, settings: { enablePush: false } })
  const asked = session.request({ ':path': '/', 'user-agent': 'namesake-upstream-check' })
  const timer = setTimeout(() => reject(tooLate()), ANSWER_TIMEOUT_MS)
  asked.on('response', (headers) => resolve(headers[':status']!)).on('error', () => reject(new Error('it does not speak HTTP/2')))
  session.on('error', reject).on('close', () => reject(new Error('it closed the connection')))
  return promise.finally(() => {
    clearTimeout(timer)
    session.destroy()
  })
}

function inWords(error: NodeJS.ErrnoException): string {
  if (error.code?.startsWith('HPE_')) return 'it does not speak HTTP/1.1'
  const cause = error instanceof UpstreamFailure && error.cause instanceof Error ? error.cause : error
  return explainConnection(cause, error.message)
}

function tooLate(): Error {
  return new Error('no answer within five seconds')
}
