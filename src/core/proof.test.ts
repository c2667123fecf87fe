import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { rows } from './db.ts'
import type { Project } from './projects.ts'
import { proofNeeded } from './proof.ts'

const RELEASES = 5_000

type Plan = { 'Actual Rows': number; 'Rows Removed by Filter'?: number; Plans?: Plan[] }

const rowsOf = ({ Plans = [], ...plan }: Plan): number =>
  plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) + Plans.reduce((sum, each) => sum + rowsOf(each), 0)

test.each(['before', 'after'])(
  'however often a hostname was claimed and given up, few rows are read of it (statistics of %s)',
  async (when) => {
    const { db, drop } = await createTestDatabase()
    try {
      const [first, second, third] = [await addProject(db), await addProject(db), await addProject(db)]
      const hostname = await claim(db, second)
      await db.pool.query(
        `insert into domains (project_id, hostname, metadata) select $1, 'h-' || n || '.test', '{}' from generate_series(1, 500) n`,
        [first.id],
      )
      const read = async (given: Project[]) => {
        await db.pool.query('delete from domains where deleted_at is not null; alter table domains disable trigger user')
        for (const project of given)
          await db.pool.query(
            `insert into domains (project_id, hostname, metadata, created_at, deleted_at)
           select $1, $2, '{}', now() - interval '2 hours', now() - interval '1 hour' from generate_series(1, ${RELEASES})`,
            [project.id, hostname],
          )
        await db.pool.query(`alter table domains enable trigger user${when === 'after' ? '; analyze domains' : ''}`)
        const [explained] = await rows(
          db,
          sql<{ 'QUERY PLAN': { Plan: Plan }[] }>`
          explain (analyze, format json) select ${proofNeeded(sql`now()`)} from domains d where d.hostname = ${hostname} and d.deleted_at is null`,
        )
        return rowsOf(explained!['QUERY PLAN'][0]!.Plan)
      }
      for (const given of [[second], [first], [third], [first, second, third]]) expect(await read(given)).toBeLessThan(20)
    } finally {
      await drop()
    }
  },
)
