import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { refusals } from './openapi.ts'

/** `GET /healthz`: this process answers. Whether the other processes do is asked at `/ready` of the internal address; neither asks the database. */
export function health(app: FastifyInstance): void {
  const schema = {
    operationId: 'getHealth',
    tags: ['Service'],
    summary: 'Whether the API answers',
    description: 'For monitors and load balancers. Needs no token.',
    security: [],
    response: { 200: Type.Ref('Health', { description: 'It answers.' }), ...refusals() },
  }
  app.get('/healthz', { schema }, (_request, reply) => reply.header('cache-control', 'no-store').send({ status: 'ok' }))
}
