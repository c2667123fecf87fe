import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { ServiceError } from '../errors.ts'
import { refusals, SESSION_CODES } from './openapi.ts'
import { type AccessParts, accessBySession } from './portal-access.ts'
import { SlugParams } from './portal-schemas.ts'
import type { News, ProjectNews } from './project-news.ts'

const HEARTBEAT_MS = 15_000
const RETRY_MS = 2_000
const STREAMS_MAX = 1_000
const UNREAD_BYTES_MAX = 1024 * 1024

/** `GET …/events`: what changes in a project, as server-sent events. A stream ends with its session, its membership and the process. */
export function portalEvents(app: FastifyInstance, parts: AccessParts & { news: ProjectNews }): void {
  const open = new Set<() => void>()
  app.addHook('onRequest', async (request) => {
    request.access = await accessBySession(parts, request)
  })
  app.addHook('preClose', async () => {
    for (const end of open) end()
  })

  app.get('/v1/portal/projects/:slug/events', { schema: EVENTS }, async (request, reply) => {
    if (open.size >= STREAMS_MAX) throw new ServiceError('rate_limited', 'too many pages are open: try again', { retryAfterS: 10 })
    const { raw } = reply
    const stopWatching = parts.news.watch(request.access.project.id, (news) => write(eventOf(news)))
    const heartbeat = setInterval(() => void beat(), HEARTBEAT_MS)
    const end = () => {
      clearInterval(heartbeat)
      stopWatching()
      open.delete(end)
      raw.end()
    }
    const write = (text: string) => {
      if (raw.writableLength > UNREAD_BYTES_MAX)
        raw.destroy() // it reconnects, and asks for everything anew
      else raw.write(text)
    }
    const beat = () => accessBySession(parts, request).then(() => write(': still here\n\n'), endUnlessAway)
    const endUnlessAway = (error: unknown) => {
      if (!(error instanceof ServiceError && error.code === 'database_unavailable')) end()
    }
    open.add(end)
    raw.on('close', end)
    begin(request, reply)
    return reply
  })
}

function begin(request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack()
  reply.raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-request-id': request.id,
  })
  reply.raw.write(`retry: ${RETRY_MS}\n\n`)
}

function eventOf(news: News): string {
  if (news.kind === 'activity') return 'event: activity\ndata: {}\n\n'
  const { projectId: _, ...domain } = news.domain
  return `event: domain\ndata: ${JSON.stringify(domain)}\n\n`
}

const EVENTS = {
  operationId: 'watchProject',
  tags: ['Projects'],
  security: [{ session: [] }],
  summary: 'Watch a project',
  description:
    'Server-sent events within two seconds of a change: `domain` with `hostname`, `removed` and, unless it is removed, `verified`, `verifiedAt` and `status`; `activity` when the activity list has grown.',
  params: SlugParams,
  response: {
    200: { description: 'The events, until either side ends them.', content: { 'text/event-stream': { schema: Type.String() } } },
    ...refusals('project_not_found', 'request_malformed', ...SESSION_CODES),
  },
}
