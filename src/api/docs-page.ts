import type { FastifyInstance } from 'fastify'
export function docsPage(app: FastifyInstance): void {
  app.get('/v1/docs', { schema: { hide: true } }, (_request, reply) => reply.type('text/html').send('<!doctype html>'))
}
