import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startAcmeStub } from '../../test/support/acme-stub.ts'
import { startPebble } from '../../test/support/pebble.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { answerChallenge, CHALLENGE_PATH } from '../certs/challenge.ts'
import { thumbprintOf } from '../certs/keys.ts'
import { readConfig } from '../config.ts'
import { beginIssuance } from '../core/certificates.ts'
import { createLog } from '../log.ts'
import { createAuthorities, orderFrom } from './authorities.ts'
import type { OrdersRefused } from './fallover.ts'
import { createIssuanceLedger } from './issuance-ledger.ts'
import { ensureOwnKeys } from './own-keys.ts'

const HMAC = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

/** Two directories, of which the first is out of service and the second takes only accounts that are bound to an external one. */
async function orderWith(eab: string | undefined) {
  const { db } = database
  const folder = mkdtempSync(join(tmpdir(), 'namesake-eab-'))
  const edge = createServer((request, response) =>
    response.end(answerChallenge(request.url!.slice(CHALLENGE_PATH.length), thumbprintOf(keys.accountKeyPem))),
  )
  await new Promise<void>((resolve) => edge.listen(0, '127.0.0.1', resolve))
  const stub = await startAcmeStub()
  stub.fail('new-order', { kind: 'outage' })
  const pebble = await startPebble({ httpPort: (edge.address() as AddressInfo).port, eab: { 'kid-1': HMAC } })
  onTestFinished(async () => {
    await pebble.stop()
    await stub.stop()
    edge.close()
    rmSync(folder, { recursive: true })
  })
  const caFile = join(folder, 'roots.pem')
  writeFileSync(caFile, [stub.caFile, pebble.caFile].map((file) => readFileSync(file, 'utf8')).join('\n'))
  const env = {
    NAMESAKE_ACME_DIRECTORY: `${stub.directoryUrl},${pebble.directoryUrl}`,
    NAMESAKE_ACME_CA_FILE: caFile,
    ...(eab !== undefined && { NAMESAKE_ACME_EAB: eab }),
    NAMESAKE_SECRET: 'a secret of the test that is long enough',
    NAMESAKE_DATABASE_URL: database.url,
  }
  const { config } = readConfig(env, tmpdir())
  const keys = await ensureOwnKeys(db, config)
  const hostname = await claim(db, await addProject(db))
  const permission = await beginIssuance(db, hostname, { directories: config.acmeDirectories })
  if (permission.kind === 'no') throw new Error(permission.reason)
  const ledger = createIssuanceLedger(db, createLog('test', 'fatal'))
  const result = await orderFrom(createAuthorities(config, keys), hostname, { permission, ledger }).catch(
    (error: unknown) => error as OrdersRefused,
  )
  return { result, pebble, stub }
}

test('of two directories the second gets the external account that is set for it', async () => {
  const { result, pebble } = await orderWith(`-,kid-1:${HMAC}`)
  expect(result).toMatchObject({ directory: pebble.directoryUrl })
})

test('without it the failure names both, each in its own words', async () => {
  const { result, pebble, stub } = await orderWith(undefined)
  expect(result).toMatchObject({
    problem: {
      type: 'urn:ietf:params:acme:error:externalAccountRequired',
      attempts: [
        { directory: stub.directoryUrl, problem: { type: 'urn:namesake:error:connectionFailed' } },
        { directory: pebble.directoryUrl },
      ],
    },
  })
})
