import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim, PROJECT_RULES } from '../../test/support/tenants.ts'
import type { Config } from '../config.ts'
import type { Db } from '../core/db.ts'
import { UpstreamFailure } from '../edge/upstream.ts'
import type { UpstreamGuard } from '../edge/upstream-guard.ts'
import { projectRules, upstreamGuard } from './project-rules.ts'

const CONFIG: Partial<Config> = { ...PROJECT_RULES, edgeIps: [], httpAddr: { host: '::', port: 80 }, httpsAddr: { host: '::', port: 443 } }
const UPSTREAM = new URL('https://app.vendor.test')
const check = (addressesOf: UpstreamGuard['addressesOf']) =>
  projectRules({} as Db, CONFIG as Config, { addressesOf }).checkUpstream(UPSTREAM, 'ada@vendor.test')

test('an upstream whose name leads where none may be is refused, and one that cannot be looked up, or not soon, is accepted', async () => {
  const failure = (reason: 'forbidden-address' | 'dns') =>
    Promise.reject(new UpstreamFailure(reason, 'app.vendor.test leads only to 10.0.0.1'))
  await expect(check(() => failure('forbidden-address'))).rejects.toMatchObject({ code: 'upstream_forbidden' })
  await check(() => failure('dns'))
  await check(() => new Promise(() => {}))
})

test('who may allow private upstreams is told how, and nobody else', async () => {
  const config = { ...CONFIG, allowPrivateUpstreams: false } as Config
  const refusal = (rules: ReturnType<typeof projectRules>) =>
    rules.checkUpstream(new URL('http://10.0.0.1'), 'ada@vendor.test').then(
      () => undefined,
      (error: Error) => error.message,
    )
  const complaint = 'http://10.0.0.1 cannot be an upstream: 10.0.0.1 is no public address, and an upstream needs one'
  expect(await refusal(projectRules({} as Db, config, upstreamGuard({} as Db, config)))).toBe(complaint)
  expect(await refusal(projectRules({} as Db, config))).toMatch(
    `${complaint} (NAMESAKE_ALLOW_PRIVATE_UPSTREAMS=true allows private addresses`,
  )
})

test('an upstream is a loop where its hostname is verified here, and nobody keeps it from its vendor by a claim', async () => {
  const { db, drop } = await createTestDatabase()
  try {
    const upstream = new URL(`https://${await claim(db, await addProject(db))}`)
    const ask = () => projectRules(db, CONFIG as Config).checkUpstream(upstream, 'ada@vendor.test')
    await ask()
    await db.pool.query('update domains set verified_at = now()')
    await expect(ask()).rejects.toMatchObject({
      code: 'upstream_forbidden',
      message: expect.stringMatching('is itself served by this edge'),
    })
  } finally {
    await drop()
  }
})
