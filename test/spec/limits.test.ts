import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuthenticator } from '../../src/api/authentication.ts'
import { limitCallers } from '../../src/api/caller-limit.ts'
import { createProjectRate } from '../../src/core/project-rate.ts'
import { createLog } from '../../src/log.ts'
import { startTestApi, type Tenant, type TestApi } from '../support/api.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { CLAIM_RULES, freshHostname } from '../support/tenants.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.stop())

test('the plan limit is enforced with 402 on register, also when claims come at once', async () => {
  const limit = CLAIM_RULES.plans.get('ten')!
  const tenant = await api.addTenant('ten')
  const answers = await Promise.all(
    Array.from({ length: limit * 2 }, () => tenant.call('POST', '/v1/edge/domains', { body: { hostname: freshHostname() } })),
  )
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(limit)
  expect(statuses.filter((status) => status === 402)).toHaveLength(limit)
})

test('the verification probe of an unverified domain is due within the interval of 5 minutes', async () => {
  const tenant = await api.addTenant()
  const hostname = freshHostname()
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
  const { dns } = (await tenant.call('GET', `/v1/edge/domains/${hostname}`)).json<{ dns: { nextCheckAt: string } }>()
  expect(Date.parse(dns.nextCheckAt) - Date.now()).toBeLessThan(5 * 60_000)
})

test('where a limit is set, calls beyond it are answered 429 with Retry-After, by their project', async () => {
  const rate = createProjectRate({ db: api.db, log: createLog('test', 'fatal'), perSecond: 100, now: () => new Date(0) })
  const authenticator = createAuthenticator({ db: api.db, log: createLog('test', 'fatal'), isFresh: () => true, now: () => new Date() })
  const limited = await startTestApi({ portal: { authenticate: limitCallers(authenticator.authenticate, rate) } })
  try {
    const [tenant, other] = [await api.addTenant(), await api.addTenant()]
    const ask = (by: Tenant) => limited.call('GET', '/v1/edge/domains', { headers: { authorization: `Bearer ${by.token}` } })
    const answers = await Promise.all(Array.from({ length: 120 }, () => ask(tenant)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(20)
    expect(refused[0]!.headers['retry-after']).toBe('1')
    expect(refused[0]!.json()).toMatchObject({ code: 'rate_limited', detail: expect.stringContaining('100 calls a second') })
    expect((await ask(other)).status).toBe(200)
  } finally {
    await limited.stop()
    await rate.close()
    await authenticator.close()
  }
})

test('a list of hostnames is one call, and so is one whose body took its time', async () => {
  const database = await createTestDatabase()
  const { db } = database
  const authenticator = createAuthenticator({ db, log: createLog('test', 'fatal'), isFresh: () => true, now: () => new Date() })
  const counted: string[] = []
  const authenticate = limitCallers(authenticator.authenticate, { take: (projectId) => void counted.push(projectId) })
  const limited = await startTestApi({ database, portal: { authenticate, vouch: authenticator.authenticate } })
  try {
    const { project, token } = await limited.addTenant()
    const headers = { authorization: `Bearer ${token}` }
    const path = `/v1/portal/projects/${project.slug}/domains/bulk`
    const hostnames = Array.from({ length: 3 }, () => freshHostname())
    const { results } = (await limited.call('POST', path, { headers, body: { hostnames } })).json<{ results: { outcome: string }[] }>()
    expect(results.map(({ outcome }) => outcome)).toEqual(['claimed', 'claimed', 'claimed'])
    expect(counted.splice(0)).toEqual([project.id])
    for (const [slowPath, body] of [
      [path, { hostnames: [freshHostname()] }],
      ['/v1/edge/domains', { hostname: freshHostname() }],
    ] as const) {
      expect(await sendSlowly(`${limited.url}${slowPath}`, headers, JSON.stringify(body))).toBe(200)
      expect(counted.splice(0)).toEqual([project.id])
    }
  } finally {
    await limited.stop()
    await authenticator.close()
    await database.drop()
  }
})

test('ten hostnames of a project are looked up at once, whichever doors the checks come by', async () => {
  const asked: string[] = []
  const running: Promise<unknown>[] = []
  const released = Promise.withResolvers<never>()
  const check = (hostname: string) => {
    asked.push(hostname)
    return released.promise
  }
  const busy = await startTestApi({ portal: { probe: { check } } })
  try {
    const tenant = await busy.addTenant()
    const claim = async () => {
      const hostname = freshHostname()
      await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
      return hostname
    }
    for (let n = 0; n < 10; n += 1) running.push(tenant.call('POST', `/v1/edge/domains/${await claim()}/check`))
    await expect.poll(() => asked).toHaveLength(10)
    const hostname = await claim()
    const link = new URL((await tenant.call('POST', `/v1/edge/domains/${hostname}/link`)).json<{ url: string }>().url)
    const further = [
      tenant.call('POST', `/v1/portal/projects/${tenant.project.slug}/domains/${hostname}/check`),
      busy.call('POST', '/v1/connect/check', { headers: { authorization: `Connect ${link.hash.slice(1)}` } }),
    ]
    running.push(...further)
    const statuses = Promise.all(further).then((answers) => answers.map(({ status }) => status))
    await expect.poll(() => Promise.race([statuses, asked.length])).toEqual([200, 200])
    expect(asked).toHaveLength(10)
  } finally {
    released.reject(new DOMException('', 'TimeoutError'))
    await Promise.all(running)
    await busy.stop()
  }
})

test('by default the control-plane rate is uncapped: 500 calls in a row are all served', async () => {
  const tenant = await api.addTenant()
  const hostname = freshHostname()
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
  const answers = await Promise.all(Array.from({ length: 500 }, () => tenant.call('GET', `/v1/edge/resolve?hostname=${hostname}`)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})

/** Sends the body in two pieces, more than a second apart; resolves with the status. */
async function sendSlowly(url: string, headers: Record<string, string>, body: string): Promise<number> {
  async function* pieces() {
    yield body.slice(0, 5)
    await setTimeout(1_200)
    yield body.slice(5)
  }
  const sent = { ...headers, 'content-type': 'application/json' }
  const answer = await fetch(url, {
    method: 'POST',
    headers: sent,
    body: ReadableStream.from(pieces()).pipeThrough(new TextEncoderStream()),
    duplex: 'half',
  } as RequestInit)
  return answer.status
}
