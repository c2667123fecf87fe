import { request } from 'node:http'
import { readUpstream, UpstreamFailure } from '../edge/upstream.ts'
import { createConnect } from '../edge/upstream-connect.ts'
import type { UpstreamGuard } from '../edge/upstream-guard.ts'

/** What a try of an upstream comes to: its status, or a sentence on why there was none. */
type UpstreamCheck = { kind: 'answered'; status: number } | { kind: 'unreachable'; sentence: string }

const CONNECT_TIMEOUT_MS = 3_000
const ANSWER_TIMEOUT_MS = 5_000

/**
 * Asks an upstream for `/` by the edge's own way to it, with the same guard on its addresses. Never rejects, follows nothing, and reads
 * nothing but the status.
 */
export function createUpstreamCheck(guard: UpstreamGuard, sourceIps: readonly string[]): (url: URL) => Promise<UpstreamCheck> {
  const connect = createConnect({ guard, connectTimeoutMs: CONNECT_TIMEOUT_MS, sourceIps, ca: [] })
  return async (url) => {
    try {
      const socket = await connect(readUpstream(url.href, 'upstream check'))
      return { kind: 'answered', status: await statusOf(url, socket) }
    } catch (error) {
      const why = error instanceof UpstreamFailure ? error.message : (error as Error).message
      return { kind: 'unreachable', sentence: `${url.origin} does not answer yet: ${why}. Visitors get a 502 until it does.` }
    }
  }
}

function statusOf(url: URL, socket: Awaited<ReturnType<ReturnType<typeof createConnect>>>): Promise<number> {
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
  asked.on('error', (error) => {
    socket.destroy()
    reject(error.name === 'AbortError' || error.name === 'TimeoutError' ? new Error('no answer within five seconds') : error)
  })
  asked.end()
  return promise
}
