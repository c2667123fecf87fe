import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { type Authority, type IssuedCertificate, IssueError } from '../certs/authority.ts'
import { beginIssuance, type IssuancePermission } from '../core/certificates.ts'
import { recordRateLimit } from '../core/issuance-budget.ts'
import type { Hostname } from '../hostname.ts'
import { createLog } from '../log.ts'
import { orderFrom } from './authorities.ts'
import { createIssuanceLedger } from './issuance-ledger.ts'

let database: TestDatabase
let ledger: ReturnType<typeof createIssuanceLedger>
beforeAll(async () => {
  database = await createTestDatabase()
  ledger = createIssuanceLedger(database.db, createLog('test', 'fatal'))
})
afterAll(() => database.drop())

const FIRST = 'https://first.example.com/directory'
const SECOND = 'https://second.example.com/directory'
const ACME = 'urn:ietf:params:acme:error:'
const CERTIFICATE: IssuedCertificate = {
  ...{ chainPem: 'chain', keyPem: 'key', issuer: 'CN=Test', serial: '01' },
  ...{ notBefore: new Date(0), notAfter: new Date(1) },
}

/** An authority that takes every order and delivers, or refuses as told; `unsent`: it cannot even be asked. */
function authority(name: string, refuses?: { type: string; detail: string; retryAfterS?: number; unsent?: boolean }): Authority {
  return {
    name,
    thumbprint: null,
    renewalInfo: async () => ({ kind: 'none' }),
    async issue(_hostname, { onOrder }) {
      if (!refuses?.unsent) await onOrder?.()
      if (refuses) throw new IssueError(refuses.detail, refuses, { retryAfterS: refuses.retryAfterS })
      return CERTIFICATE
    },
  }
}

async function begin(directories: string[]): Promise<{ hostname: Hostname; permission: IssuancePermission }> {
  await database.db.pool.query('delete from issuance_orders; delete from issuance_blocks')
  const hostname = await claim(database.db, await addProject(database.db))
  const permission = await beginIssuance(database.db, hostname, { directories })
  if (permission.kind === 'no') throw new Error(permission.reason)
  return { hostname, permission }
}

async function entries(): Promise<string[]> {
  const { rows } = await database.db.pool.query<{ entry: string }>(
    `select directory || ' ' || outcome as entry from issuance_orders order by directory`,
  )
  return rows.map(({ entry }) => entry)
}

test('what an authority issued is counted as issued', async () => {
  const { hostname, permission } = await begin([FIRST])
  expect(await orderFrom([authority(FIRST)], hostname, { permission, ledger })).toEqual({ ...CERTIFICATE, directory: FIRST })
  expect(await entries()).toEqual([`${FIRST} issued`])
})

test('an order that never reached the authority is given back, and the next authority is asked', async () => {
  const { hostname, permission } = await begin([FIRST, SECOND])
  const first = authority(FIRST, { type: 'urn:namesake:error:connectionFailed', detail: 'no connection', unsent: true })
  expect(await orderFrom([first, authority(SECOND)], hostname, { permission, ledger })).toEqual({ ...CERTIFICATE, directory: SECOND })
  expect(await entries()).toEqual([`${SECOND} issued`])
})

test('a hostname that cannot be validated is counted as that, and no other authority is asked', async () => {
  const { hostname, permission } = await begin([FIRST, SECOND])
  const first = authority(FIRST, { type: `${ACME}unauthorized`, detail: 'a 404' })
  await expect(orderFrom([first, authority(SECOND)], hostname, { permission, ledger })).rejects.toThrow('a 404')
  expect(await entries()).toEqual([`${FIRST} invalid`])
})

test.for([3_600, undefined])(
  "an authority's limit that we did not foresee holds the next order back, and the next authority is asked meanwhile (Retry-After: %s)",
  async (retryAfterS) => {
    const { hostname, permission } = await begin([FIRST, SECOND])
    const first = authority(FIRST, { type: `${ACME}rateLimited`, detail: 'too many new orders from this account', retryAfterS })
    expect(await orderFrom([first, authority(SECOND)], hostname, { permission, ledger })).toEqual({ ...CERTIFICATE, directory: SECOND })
    expect(await entries()).toEqual([`${FIRST} refused`, `${SECOND} issued`])
    const other = await claim(database.db, await addProject(database.db))
    const answer = await beginIssuance(database.db, other, { directories: [FIRST] })
    expect(answer).toMatchObject({ kind: 'no', postponed: true, reason: expect.stringContaining('too many new orders') })
  },
)

test('an authority without room is not asked, and the refusal before it stands', async () => {
  const { hostname, permission } = await begin([FIRST, SECOND])
  await recordRateLimit(database.db, { directory: SECOND, hostname, detail: 'too many new orders', retryAfterS: 3_600 })
  const first = authority(FIRST, { type: `${ACME}serverInternal`, detail: 'an outage' })
  const second = authority(SECOND, { type: `${ACME}malformed`, detail: 'this one must not be asked' })
  await expect(orderFrom([first, second], hostname, { permission, ledger })).rejects.toThrow('an outage')
  expect(await entries()).toEqual([`${FIRST} refused`])
})
