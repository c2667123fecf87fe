import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { ServiceError } from '../errors.ts'
import { repeatedName, splitMembers } from '../lib/json-members.ts'
import { quoted } from '../lib/quoted.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON text of the body as it came; empty when there was none. */
    bodyText: string
  }
}

export const BODY_BYTES_MAX = 1024 * 1024

/**
 * Bodies are JSON (RFC 8259) in UTF-8, parsed without losing anything: `__proto__` is a key like any other, and the text stays at hand.
 * An object with a name twice is `body_invalid`. An empty body is no body, whatever its type, and as good as `{}` where no field is required; anything else that is not `application/json`,
 * or is compressed, is `unsupported_media_type`. Where no body is described, one with fields is `body_invalid`. Comes before all routes.
 */
export function readJsonBodies(app: FastifyInstance): void {
  app.decorateRequest('bodyText', '')
  app.addHook('onRoute', settleBody)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request: FastifyRequest, body: Buffer, done) => {
    try {
      if (body.length > 0) requireNoCoding(request)
      request.bodyText = decode(body)
      done(null, request.bodyText === '' ? undefined : parse(request.bodyText))
    } catch (error) {
      done(error as Error)
    }
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body: Buffer, done) => {
    if (body.length === 0) return done(null, undefined)
    done(new ServiceError('unsupported_media_type', 'send the body as JSON, with Content-Type: application/json'))
  })
}

/** The raw text of one member of the request's body, which has been parsed as an object. */
export function rawMember(request: FastifyRequest, name: string): string | undefined {
  return splitMembers(request.bodyText).find(([key]) => JSON.parse(key) === name)?.[1]
}

/** Whether a body of this schema must hold something. */
export function requiresFields(schema: object): boolean {
  return 'required' in schema && Array.isArray(schema.required) && schema.required.length > 0
}

function settleBody(route: RouteOptions): void {
  const described = route.schema?.body
  if (described && !requiresFields(described)) route.preValidation = letBodyBeLeftOut
  if (!described && (route.method === 'POST' || route.method === 'DELETE')) route.preValidation = requireNoFields
}

async function letBodyBeLeftOut(request: FastifyRequest): Promise<void> {
  if (request.body === undefined) request.body = {}
}

async function requireNoFields({ body }: FastifyRequest): Promise<void> {
  if (body === undefined || (isObject(body) && Object.keys(body).length === 0)) return
  throw new ServiceError('body_invalid', 'this endpoint takes no fields: leave the body out, or send {}')
}

function requireNoCoding(request: FastifyRequest): void {
  const coding = request.headers['content-encoding']
  if (coding === undefined || coding.toLowerCase() === 'identity') return
  throw new ServiceError('unsupported_media_type', 'send the body as it is, without Content-Encoding')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw new ServiceError('body_invalid', 'the body is not UTF-8')
  }
}

function parse(text: string): unknown {
  const value = parseJson(text)
  const name = repeatedName(text)
  if (name === undefined) return value
  throw new ServiceError('body_invalid', `the body holds the field ${quoted(name)} twice in one object: send it once`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ServiceError('body_invalid', `the body is not valid JSON: ${(error as Error).message.slice(0, 200)}`)
  }
}
