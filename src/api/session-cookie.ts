import type { FastifyReply, FastifyRequest } from 'fastify'
import { SESSION_DAYS } from '../core/sessions.ts'

/** The cookie that holds a session's key; on HTTPS nobody but this very host can have set it (`__Host-`). */
export type SessionCookie = {
  read(request: FastifyRequest): string | undefined
  set(reply: FastifyReply, key: string): void
  clear(reply: FastifyReply): void
}

const DAY_S = 86_400

export function createSessionCookie(portalUrl: URL): SessionCookie {
  const secure = portalUrl.protocol === 'https:'
  const name = secure ? '__Host-namesake_session' : 'namesake_session'
  const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const
  return {
    read: (request) => request.cookies[name],
    set: (reply, key) => void reply.setCookie(name, key, { ...attributes, maxAge: SESSION_DAYS * DAY_S }),
    clear: (reply) => void reply.clearCookie(name, attributes),
  }
}
