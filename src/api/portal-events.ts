import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { admit } from './admit.ts'
import { type EventStreams, NO_HEAD } from './event-stream.ts'
import { refusals, SESSION_CODES } from './openapi.ts'
import { type AccessParts, accessBySession } from './portal-access.ts'
import { SlugParams } from './portal-schemas.ts'
import type { ProjectNews } from './project-news.ts'
import { callerKey } from './stranger-limits.ts'

/** `GET …/events`: what changes in a project, as server-sent events. A stream ends with its session, its membership and the process. */
export function portalEvents(app: FastifyInstance, parts: AccessParts & { news: ProjectNews; streams: EventStreams }): void {
  admit(app, async (request) => {
    request.access = await accessBySession(parts, request)
  })

  app.get('/v1/portal/projects/:slug/events', { schema: EVENTS, ...NO_HEAD }, async (request, reply) =>
    parts.streams.open(
      reply,
      { reader: request.session.email, byLink: false, place: callerKey(request), projectId: request.access.project.id },
      {
        stillAllowed: () => accessBySession(parts, request),
        watch: (write, breakOff) =>
          parts.news.watch(request.access.project.id, (news) => {
            if (news.kind === 'missed') return breakOff()
            if (news.kind === 'activity') return write('activity', {})
            const { projectId: _, ...domain } = news.domain
            write('domain', domain)
          }),
      },
    ),
  )
}

const EVENTS = {
  operationId: 'watchProject',
  tags: ['Projects'],
  security: [{ session: [] }],
  summary: 'Watch a project',
  description:
    'Server-sent events within two seconds of a change: `domain` with `hostname`, `removed` and, unless it is removed, `verified`, `verifiedAt`, `createdAt` and `status`; `activity` when the activity list has grown.',
  params: SlugParams,
  response: {
    200: { description: 'The events, until either side ends them.', content: { 'text/event-stream': { schema: Type.String() } } },
    ...refusals('project_not_found', 'request_malformed', ...SESSION_CODES),
  },
}
