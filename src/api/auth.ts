import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { mailboxOf, parseEmailAddress } from '../core/email-address.ts'
import type { LinkSigner } from '../core/link-signer.ts'
import type { RateLimits } from '../core/rate-limits.ts'
import { endSession, listMemberships, type MembershipRecord, type Session } from '../core/sessions.ts'
import { exchangeLink, findLinkEmail, requestSignIn } from '../core/sign-in-links.ts'
import { ServiceError } from '../errors.ts'
import { refuseCrossSite } from './cross-site.ts'
import { BODY_CODES, refusals, SESSION_CODES } from './openapi.ts'
import { type AccessParts, findOwnSession } from './portal-access.ts'
import { LinkExchangeSchema, LinkRequestSchema } from './portal-schemas.ts'
import { callerKey } from './stranger-limits.ts'

export type AuthParts = AccessParts & {
  signer: LinkSigner
  signup: 'open' | 'invited'
  /** Sent by a mail server, kept for `/inbox`, or not possible. */
  mail: 'sent' | 'kept' | 'none'
  limits: RateLimits
}

/** `/v1/auth`: sign in by a link in a mail, see who one is, sign out. */
export function auth(instance: FastifyInstance, parts: AuthParts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const { db, cookie, limits } = parts
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    refuseCrossSite(request, parts.portalUrl)
  })
  const limited = { onRequest: (request: { ip: string }) => limits.take('sign-in', callerKey(request)) }

  app.post('/v1/auth/request-magic-link', { ...limited, schema: REQUEST }, async (request, reply) => {
    const email = parseEmailAddress(request.body.email)
    if (parts.mail === 'none') {
      throw new ServiceError('mail_unavailable', 'this installation has no mail server yet: its operator sets NAMESAKE_SMTP_URL')
    }
    await limits.take('links', email)
    // Whatever is made up behind a plus arrives with the same reader, but leaves the address without it alone.
    const mailbox = mailboxOf(email)
    if (mailbox !== email) await limits.take('links', `with a plus to ${mailbox}`)
    await requestSignIn(db, email, parts.signup)
    return reply.code(202).send({ sent: true, ...(parts.mail === 'kept' && { inbox: '/inbox' }) })
  })

  app.post('/v1/auth/magic-link', { ...limited, schema: SHOW_LINK }, async (request, reply) =>
    reply.send({ email: await findLinkEmail(db, parts.signer, request.body.token) }),
  )

  app.post('/v1/auth/callback', { ...limited, schema: CALLBACK }, async (request, reply) => {
    const { key, session, projects } = await exchangeLink(db, parts.signer, request.body.token, cookie.read(request))
    cookie.set(reply, key)
    return reply.send(userOf(session, projects))
  })

  app.get('/v1/auth/me', { schema: ME }, async (request, reply) => {
    const session = await findOwnSession(parts, request)
    return reply.send(userOf(session, await listMemberships(db, session)))
  })

  app.post('/v1/auth/sign-out', { schema: SIGN_OUT }, async (request, reply) => {
    await endSession(db, cookie.read(request))
    cookie.clear(reply)
    return reply.code(204).send(null)
  })
}

function userOf({ email, signedInAt }: Session, projects: MembershipRecord[]) {
  return { email, projects, signedInAt }
}

const common = { tags: ['Sign-in'], security: [] }

const REQUEST = {
  ...common,
  operationId: 'requestMagicLink',
  summary: 'Ask for a sign-in link',
  description:
    'Mails a link that signs its reader in once, within 15 minutes. The answer is the same whether or not the address is known. Five links an address in 15 minutes.',
  body: LinkRequestSchema,
  response: {
    202: Type.Ref('LinkSent', { description: 'The mail is on its way, if the address may sign in.' }),
    ...refusals(...BODY_CODES, 'email_invalid', 'cross_site', 'rate_limited', 'mail_unavailable', 'database_unavailable'),
  },
}

const SHOW_LINK = {
  ...common,
  operationId: 'showMagicLink',
  summary: 'Show whom a sign-in link signs in',
  description: 'Spends nothing: a page can ask its reader first whether this is who they are.',
  body: LinkExchangeSchema,
  response: {
    200: Type.Ref('MagicLink', { description: 'The link works.' }),
    ...refusals(...BODY_CODES, 'magic_link_invalid', 'cross_site', 'rate_limited', 'database_unavailable'),
  },
}

const CALLBACK = {
  ...common,
  operationId: 'signIn',
  summary: 'Exchange a sign-in link for a session',
  description:
    'Spends the token of the link and sets the session cookie. The session sees the projects that its user belongs to at this moment, and those it makes itself.',
  body: LinkExchangeSchema,
  response: {
    200: Type.Ref('User', { description: 'Who is signed in now.' }),
    ...refusals(...BODY_CODES, 'magic_link_invalid', 'cross_site', 'rate_limited', 'database_unavailable'),
  },
}

const ME = {
  tags: ['Sign-in'],
  security: [{ session: [] }],
  operationId: 'showUser',
  summary: 'Show who is signed in',
  description: 'The user of the session, with the projects that the session sees.',
  response: {
    200: Type.Ref('User', { description: 'Who is signed in.' }),
    ...refusals(...SESSION_CODES),
  },
}

const SIGN_OUT = {
  ...common,
  operationId: 'signOut',
  summary: 'Sign out',
  description: 'Ends the session: its cookie opens nothing from here on. Without a session there is nothing to do, and that is no error.',
  response: { 204: Type.Null({ description: 'Nobody is signed in.' }), ...refusals(...BODY_CODES, 'cross_site', 'database_unavailable') },
}
