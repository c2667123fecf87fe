import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type Connection, findConnection, mailInstructions } from '../core/connect-links.ts'
import { findStatuses } from '../core/domain-status.ts'
import { findDomain } from '../core/domains.ts'
import { mailboxOf, parseEmailAddress } from '../core/email-address.ts'
import type { LinkSigner } from '../core/link-signer.ts'
import { watchDomain } from '../core/probes.ts'
import type { RateLimits } from '../core/rate-limits.ts'
import { ServiceError } from '../errors.ts'
import { admit } from './admit.ts'
import type { EdgeDomainsParts } from './edge-domains.ts'
import { type EventStreams, NO_HEAD } from './event-stream.ts'
import { BODY_CODES, refusals } from './openapi.ts'
import { InstructionsSchema } from './portal-schemas.ts'
import type { ProjectNews } from './project-news.ts'
import { callerKey, type StrangerLimits } from './stranger-limits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for every route under /v1/connect. */
    connection: Connection
  }
}

export type ConnectParts = EdgeDomainsParts & {
  connectSigner: LinkSigner
  mail: 'sent' | 'kept' | 'none'
  limits: RateLimits
  strangers: StrangerLimits
  news: ProjectNews
  streams: EventStreams
}

const SCHEME = 'connect '
const WATCH_S = 30 // longer than a heartbeat
// A vendor's own pages may show how the hostname stands. No cookie means anything here, so any origin may ask.
const ANY_ORIGIN = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'retry-after' }
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers': 'authorization, content-type',
  'access-control-max-age': '86400',
}

/** `/v1/connect`: what the owner of one hostname sees and does, with a link and without an account. */
export function connect(instance: FastifyInstance, parts: ConnectParts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const { db } = parts
  const identify = async (request: FastifyRequest) => {
    try {
      request.connection = await findConnection(db, parts.connectSigner, readToken(request.headers.authorization))
    } catch (error) {
      throw await parts.strangers.instead(request, error)
    }
  }
  app.decorateRequest('connection')
  admit(app, async (request, reply) => {
    reply.headers(ANY_ORIGIN).header('cache-control', 'no-store')
    if (request.method !== 'OPTIONS') await identify(request)
  })
  const show = async ({ hostname, project, brand, expiresAt }: Connection) => {
    const { dns, zone, provider } = await findDomain(db, project, hostname, parts.rules)
    const statuses = await findStatuses(db, project.id, [hostname])
    const status = statuses.get(hostname) ?? 'waiting-for-dns'
    return { hostname, project: { name: project.name, ...brand }, status, dns, zone, provider, expiresAt }
  }

  for (const path of ['', '/check', '/mail', '/events']) {
    app.options(`/v1/connect${path}`, { schema: { hide: true } }, (_request, reply) => reply.headers(PREFLIGHT).code(204).send())
  }

  app.get('/v1/connect', { schema: SHOW }, async (request, reply) => reply.send(await show(request.connection)))

  app.post('/v1/connect/check', { schema: CHECK }, async (request, reply) => {
    await parts.checkDomain(request.connection.project, request.connection.hostname, { byLink: true })
    return reply.send(await show(request.connection))
  })

  app.post('/v1/connect/mail', { schema: MAIL }, async (request, reply) => {
    if (parts.mail === 'none') throw new ServiceError('mail_unavailable', 'this installation has no mail server: copy the link instead')
    const mailbox = mailboxOf(parseEmailAddress(request.body.to))
    // Whoever has the link can have mail sent with words of their own, so it counts as sign-in links do: by link, by place and by reader; and a project may have any number of links.
    await parts.limits.take('links', `connect ${request.connection.linkId}`)
    await parts.limits.take('links', `connect from ${callerKey(request)}`)
    await parts.limits.take('links', `connect to ${mailbox}`)
    await parts.limits.take('instructions', request.connection.project.id)
    await mailInstructions(db, request.connection, request.body)
    return reply.code(202).send({ sent: true })
  })

  app.get('/v1/connect/events', { schema: EVENTS, ...NO_HEAD }, async (request, reply) => {
    const { project, hostname } = request.connection
    const keepLooking = () => watchDomain(db, project, hostname, { forS: WATCH_S, untilDone: true })
    await keepLooking()
    return parts.streams.open(
      reply,
      { reader: request.connection.linkId, byLink: true, place: callerKey(request), projectId: project.id },
      {
        headers: ANY_ORIGIN,
        stillAllowed: () => identify(request).then(keepLooking),
        watch: (write, breakOff) =>
          parts.news.watch(project.id, (news) => {
            if (news.kind === 'missed') return breakOff()
            if (news.kind !== 'domain' || news.domain.hostname !== hostname || news.domain.removed) return
            const { verified, status } = news.domain
            write('domain', { hostname, verified, status })
          }),
      },
    )
  })
}

function readToken(authorization = ''): string {
  return authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME ? authorization.slice(SCHEME.length) : ''
}

const common = { tags: ['Connect'], security: [{ connect: [] }] }
const CODES = ['connect_link_invalid', 'rate_limited', 'database_unavailable'] as const
const CONNECTION = Type.Ref('Connection', { description: 'How the hostname stands.' })

const SHOW = {
  ...common,
  operationId: 'showConnection',
  summary: 'Show how the hostname of a link stands',
  description: 'What its owner needs: the records to add, what was found instead, and how far it has come. Answers pages of any origin.',
  response: { 200: CONNECTION, ...refusals('domain_not_found', ...CODES) },
}

const CHECK = {
  ...common,
  operationId: 'checkConnection',
  summary: 'Check the DNS of the hostname of a link',
  description: 'Looks now, at most once in two seconds, and answers with what was found.',
  response: { 200: CONNECTION, ...refusals(...BODY_CODES, 'domain_not_found', ...CODES) },
}

const MAIL = {
  ...common,
  operationId: 'mailInstructions',
  summary: 'Mail the records to whoever manages the DNS',
  description:
    'Sends the records to add, the link, and a note of up to 1,000 characters. Five mails a link, and to one reader, in 15 minutes.',
  body: InstructionsSchema,
  response: {
    202: Type.Ref('InstructionsSent', { description: 'The mail is on its way.' }),
    ...refusals(...BODY_CODES, 'email_invalid', 'mail_unavailable', ...CODES),
  },
}

const EVENTS = {
  ...common,
  operationId: 'watchConnection',
  summary: 'Watch the hostname of a link',
  description:
    'Server-sent events: `domain` with `hostname`, `verified` and `status`, within two seconds of a change. While it is open the DNS is looked at every two seconds, until the hostname is live and no warning is left.',
  response: {
    200: { description: 'The events, until either side ends them.', content: { 'text/event-stream': { schema: Type.String() } } },
    ...refusals('domain_not_found', ...CODES),
  },
}
