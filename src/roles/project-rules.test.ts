import { expect, test } from 'vitest'
import { PROJECT_RULES } from '../../test/support/tenants.ts'
import type { Config } from '../config.ts'
import type { Db } from '../core/db.ts'
import { UpstreamFailure } from '../edge/upstream.ts'
import type { UpstreamGuard } from '../edge/upstream-guard.ts'
import { projectRules } from './project-rules.ts'

const check = (addressesOf: UpstreamGuard['addressesOf']) =>
  projectRules({} as Db, PROJECT_RULES as Partial<Config> as Config, { addressesOf }).checkUpstream(
    new URL('https://app.vendor.test'),
    'ada@vendor.test',
  )

test('an upstream whose name leads where none may be is refused, and one that cannot be looked up, or not soon, is accepted', async () => {
  const failure = (reason: 'forbidden-address' | 'dns') =>
    Promise.reject(new UpstreamFailure(reason, 'app.vendor.test leads only to 10.0.0.1'))
  await expect(check(() => failure('forbidden-address'))).rejects.toMatchObject({ code: 'upstream_forbidden' })
  await check(() => failure('dns'))
  await check(() => new Promise(() => {}))
})
