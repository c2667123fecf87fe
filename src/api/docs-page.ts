import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { type Reference, renderReference } from './docs-reference.ts'
import { DOCS_STYLE } from './docs-style.ts'
import { refusals } from './openapi.ts'

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', DOCS_STYLE, 'base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** `GET /v1/docs`, written once all routes stand. */
export function docsPage(app: FastifyInstance): void {
  let page: string | undefined
  app.get('/v1/docs', { schema: DOCS }, (_request, reply) => {
    page ??= renderReference(app.swagger() as unknown as Reference)
    return reply.headers(HTML_HEADERS).send(page)
  })
}

const HTML_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'public, max-age=300',
}

const DOCS = {
  operationId: 'getDocs',
  tags: ['Service'],
  summary: 'This reference, for people',
  description: 'The page that you may be reading: made from the OpenAPI document, complete without script or a second request.',
  security: [],
  response: { 200: { description: 'The page.', content: { 'text/html': { schema: Type.String() } } }, ...refusals('rate_limited') },
}
