import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { closeDatabase, connectDatabase, type Db } from '../../src/core/db.ts'
import { administer, sibling, TEMPLATE } from './postgres-server.ts'

export type TestDatabase = { db: Db; url: string; drop(): Promise<void> }

/** A fresh, migrated database on the run's server. `drop` closes `db` and cuts whoever else is connected. */
export function createTestDatabase(options: { poolMax?: number } = {}): Promise<TestDatabase> {
  return createDatabase(`template ${TEMPLATE}`, options)
}

/** As createTestDatabase, without a schema. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase('', {})
}

async function createDatabase(from: string, options: { poolMax?: number }): Promise<TestDatabase> {
  const adminUrl = inject('postgresUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  await administer(adminUrl, `create database ${name} ${from}`)
  const url = sibling(adminUrl, name)
  const db = connectDatabase(url, { applicationName: 'test', ...options })
  return {
    db,
    url,
    async drop() {
      await closeDatabase(db)
      await administer(adminUrl, `drop database ${name} with (force)`)
    },
  }
}
