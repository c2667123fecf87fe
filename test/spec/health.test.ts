import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApi, type TestApi } from '../support/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.stop())

test('GET /healthz needs no authentication and answers 200 with an object whose field status is ok', async () => {
  const answer = await api.call('GET', '/healthz')
  expect([answer.status, answer.json()]).toEqual([200, { status: 'ok' }])
})

test('a wrong token does not disturb it', async () => {
  expect((await api.call('GET', '/healthz', { headers: { authorization: 'Bearer nonsense' } })).status).toBe(200)
})
