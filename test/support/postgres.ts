import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { closeDatabase, connectDatabase, type Db } from '../../src/core/db.ts'
import { administer, sibling, TEMPLATE } from './postgres-server.ts'

export type TestDatabase = { db: Db; url: string; drop(): Promise<void> }

/** As superuser, the database `postgres` of the server that no other test file uses at the moment. */
export function adminUrl(): string {
  return inject('postgresUrls')[Number(process.env.VITEST_POOL_ID) - 1]!
}

/** A fresh, migrated database on that server. `drop` closes `db` and cuts whoever else is connected. */
export function createTestDatabase(options: { poolMax?: number } = {}): Promise<TestDatabase> {
  return createDatabase(`template ${TEMPLATE}`, options)
}

/** As createTestDatabase, without a schema. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase('', {})
}

async function createDatabase(from: string, options: { poolMax?: number }): Promise<TestDatabase> {
  const admin = adminUrl()
  const name = `test_${randomBytes(6).toString('hex')}`
  await administer(admin, `create database ${name} ${from}`)
  const url = sibling(admin, name)
  const db = connectDatabase(url, { applicationName: 'test', ...options })
  return {
    db,
    url,
    async drop() {
      await closeDatabase(db)
      await administer(admin, `drop database ${name} with (force)`)
    },
  }
}
