import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApi, type TestApi } from '../support/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.stop())

test('all API endpoints live under /v1; the health endpoint is at the root', () => {
  const outside = Object.keys(api.document.paths).filter((path) => !path.startsWith('/v1/'))
  expect(outside).toEqual(['/healthz'])
})

test('the API describes itself for programs at /v1/openapi.json, without a token', async () => {
  const answer = await api.call('GET', '/v1/openapi.json')
  expect(answer.json()).toMatchObject({ openapi: '3.1.1', info: { title: 'Namesake' } })
})

test('the shapes are stable: exactly the specified endpoints and their four companions are there', () => {
  const operations = Object.entries(api.document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(operations.filter((operation) => operation.includes('/edge/')).toSorted()).toEqual([
    'DELETE /v1/edge/domains/{hostname}',
    'DELETE /v1/edge/domains/{hostname}/certificate',
    'GET /v1/edge/domains',
    'GET /v1/edge/domains/{hostname}',
    'GET /v1/edge/domains/{hostname}/certificate/history',
    'GET /v1/edge/resolve',
    'POST /v1/edge/domains',
    'POST /v1/edge/domains/{hostname}/check',
    'POST /v1/edge/domains/{hostname}/link',
    'PUT /v1/edge/domains/{hostname}/certificate',
  ])
})

test('every session and portal endpoint of the specification is there', () => {
  const specified = [
    ['post', '/v1/auth/request-magic-link'],
    ['post', '/v1/auth/callback'],
    ['get', '/v1/auth/me'],
    ['post', '/v1/auth/sign-out'],
    ['post', '/v1/portal/projects'],
    ['get', '/v1/portal/projects/{slug}'],
    ['post', '/v1/portal/projects/{slug}/tokens'],
    ['get', '/v1/portal/projects/{slug}/tokens'],
    ['delete', '/v1/portal/projects/{slug}/tokens/{tokenId}'],
    ['post', '/v1/portal/projects/{slug}/domains'],
    ['get', '/v1/portal/projects/{slug}/domains'],
    ['delete', '/v1/portal/projects/{slug}/domains/{hostname}'],
  ] as const
  expect(specified.filter(([method, path]) => !api.document.paths[path]?.[method])).toEqual([])
})

test('the internal certificate check is not part of it', async () => {
  expect(JSON.stringify(api.document)).not.toContain('certificate-check')
  expect((await api.call('GET', '/internal/certificate-check?domain=a.test')).status).toBe(404)
})
