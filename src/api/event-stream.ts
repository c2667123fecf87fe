import type { FastifyInstance, FastifyReply } from 'fastify'
import { ServiceError, saysDatabaseIsAway } from '../errors.ts'
import { enterAll, Shares } from '../lib/shares.ts'
import { LEAVING } from './listen.ts'

/** What an open stream needs: news to write, and whether its reader may still listen. */
export type StreamParts = {
  /** Begins to write; resolves, once nothing will be missed, with how to stop. `breakOff` has the reader come back and ask for everything anew. */
  watch(write: (event: string, data: object) => void, breakOff: () => void): Promise<() => void>
  /** Rejects when the reader may not listen any more. Asked with every heartbeat. */
  stillAllowed(): Promise<unknown>
  headers?: Record<string, string>
}

/** Of a route that opens a stream: HEAD would open one as well, whose answer never ends for its reader, and hold a place with it. */
export const NO_HEAD = { exposeHeadRoute: false }

const HEARTBEAT_MS = 15_000
const RETRY_MS = 2_000
const STREAMS_MAX = 1_000
const STREAMS_PER_READER_MAX = 20
const STREAMS_PER_PLACE_MAX = 100
const STREAMS_PER_PROJECT_MAX = 200
const LINK_STREAMS_PER_PROJECT_MAX = 150 // the vendor's own pages have the rest
const UNREAD_BYTES_MAX = 1024 * 1024

/** A reader is one user, or whoever has one link (`byLink`); a place is where they call from: any number of users and of projects may be one person's. */
export type StreamOwner = { reader: string; byLink: boolean; place: string; projectId: string }

export type EventStreams = ReturnType<typeof createEventStreams>

/**
 * Server-sent events: `open` answers a request with a stream that ends with its reader's rights and with the app. Nobody takes the room of all others, by
 * whichever doors, so there is one of these.
 */
export function createEventStreams(app: FastifyInstance) {
  const streams = new Set<() => void>()
  const sharesOf = (perOwnerMax: number) => new Shares({ max: STREAMS_MAX, perOwnerMax })
  const readers = sharesOf(STREAMS_PER_READER_MAX)
  const places = sharesOf(STREAMS_PER_PLACE_MAX)
  const projects = sharesOf(STREAMS_PER_PROJECT_MAX)
  const links = sharesOf(LINK_STREAMS_PER_PROJECT_MAX)

  /** Takes a place, and returns how to give it back. */
  const enter = ({ reader, byLink, place, projectId }: StreamOwner): (() => void) => {
    const wanted: [Shares, string][] = [
      [readers, reader],
      [places, place],
      [projects, projectId],
    ]
    if (byLink) wanted.push([links, projectId])
    const leave = enterAll(wanted)
    if (leave) return leave
    throw new ServiceError('rate_limited', 'too many pages are open: close some, and try again', { retryAfterS: 10 })
  }
  const endAll = () => {
    for (const end of streams) end()
  }
  app.server.once(LEAVING, endAll)
  app.addHook('preClose', async () => endAll())

  return {
    async open(reply: FastifyReply, owner: StreamOwner, parts: StreamParts): Promise<FastifyReply> {
      const leave = enter(owner)
      const { raw } = reply
      const breakOff = () => void raw.destroy()
      const write = (text: string) => {
        if (raw.writableLength > UNREAD_BYTES_MAX) breakOff()
        else if (raw.headersSent && !raw.writableEnded) raw.write(text)
      }
      const endUnlessAway = (error: unknown) => {
        if (!saysDatabaseIsAway(error)) end()
      }
      const beat = () => parts.stillAllowed().then(() => write(': still here\n\n'), endUnlessAway)
      const tell = (event: string, data: object) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
      const stopWatching = await parts.watch(tell, breakOff).catch((error) => {
        leave()
        throw error
      })
      const heartbeat = setInterval(() => void beat(), HEARTBEAT_MS)
      const end = () => {
        if (!streams.delete(end)) return
        clearInterval(heartbeat)
        stopWatching()
        leave()
        raw.end()
      }
      streams.add(end)
      raw.on('close', end)
      begin(reply, parts.headers)
      if (raw.destroyed || !app.server.listening) end() // gone while we prepared, or we are about to go: its reader comes back to our successor
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
