import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { closeDatabase, connectDatabase, type Db } from '../../src/core/db.ts'
import { administer, sibling, TEMPLATE } from './postgres-server.ts'

export type TestDatabase = { db: Db; url: string; drop(): Promise<void> }

/** A fresh, migrated database on the run's server. `drop` closes `db` and cuts whoever else is connected. */
export async function createTestDatabase(options: { poolMax?: number } = {}): Promise<TestDatabase> {
  const adminUrl = inject('postgresUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  await administer(adminUrl, `create database ${name} template ${TEMPLATE}`)
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
