import type { FastifyInstance, HTTPMethods } from 'fastify'
import { ServiceError } from '../errors.ts'

const METHODS: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']

/** Every path that has routes answers its other methods with 405 and `Allow` (RFC 9110 §15.5.6). Comes after all routes. */
export function refuseOtherMethods(app: FastifyInstance): void {
  const paths = new Map<string, Set<HTTPMethods>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = paths.get(url) ?? new Set()
    for (const one of [method].flat()) methods.add(one)
    paths.set(url, methods)
  })
  app.register(async (rest) => {
    for (const [url, allowed] of [...paths]) {
      const method = METHODS.filter((one) => !allowed.has(one))
      const allow = METHODS.filter((one) => allowed.has(one)).join(', ')
      const answer = refuse(allow)
      rest.route({ method, url, schema: { hide: true }, onRequest: answer, handler: answer }) // before anything is read of the body
    }
  })
}

function refuse(allow: string) {
  return (request: { method: string }, reply: { header(name: string, value: string): unknown }): never => {
    reply.header('allow', allow)
    throw new ServiceError('method_not_allowed', `${request.method} is not allowed here, but ${allow}`)
  }
}
