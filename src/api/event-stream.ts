import type { FastifyInstance, FastifyReply } from 'fastify'
import { ServiceError } from '../errors.ts'

/** What an open stream needs: news to write, and whether its reader may still listen. */
export type StreamParts = {
  /** Begins to write; resolves, once nothing will be missed, with how to stop. `breakOff` has the reader come back and ask for everything anew. */
  watch(write: (event: string, data: object) => void, breakOff: () => void): Promise<() => void>
  /** Rejects when the reader may not listen any more. Asked with every heartbeat. */
  stillAllowed(): Promise<unknown>
  headers?: Record<string, string>
}

const HEARTBEAT_MS = 15_000
const RETRY_MS = 2_000
const STREAMS_MAX = 1_000
const UNREAD_BYTES_MAX = 1024 * 1024

/** Server-sent events: `open` answers a request with a stream that ends with its reader's rights and with the app. */
export function createEventStreams(app: FastifyInstance): { open(reply: FastifyReply, parts: StreamParts): Promise<FastifyReply> } {
  const streams = new Set<() => void>()
  app.addHook('preClose', async () => {
    for (const end of streams) end()
  })

  return {
    async open(reply, parts) {
      if (streams.size >= STREAMS_MAX) throw new ServiceError('rate_limited', 'too many pages are open: try again', { retryAfterS: 10 })
      const { raw } = reply
      const breakOff = () => void raw.destroy()
      const write = (text: string) => {
        if (raw.writableLength > UNREAD_BYTES_MAX) breakOff()
        else if (raw.headersSent && !raw.writableEnded) raw.write(text)
      }
      const endUnlessAway = (error: unknown) => {
        if (!(error instanceof ServiceError && error.code === 'database_unavailable')) end()
      }
      const beat = () => parts.stillAllowed().then(() => write(': still here\n\n'), endUnlessAway)
      const stopWatching = await parts.watch((event, data) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`), breakOff)
      const heartbeat = setInterval(() => void beat(), HEARTBEAT_MS)
      const end = () => {
        clearInterval(heartbeat)
        stopWatching()
        streams.delete(end)
        raw.end()
      }
      streams.add(end)
      raw.on('close', end)
      begin(reply, parts.headers)
      if (raw.destroyed) end() // gone while we prepared
      return reply
    },
  }
}

function begin(reply: FastifyReply, headers: Record<string, string> = {}): void {
  reply.hijack()
  reply.raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-request-id': reply.request.id,
    ...headers,
  })
  reply.raw.write(`retry: ${RETRY_MS}\n\n`)
}
