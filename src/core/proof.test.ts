import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { rowsRead } from '../../test/support/rows-read.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import type { Hostname } from '../hostname.ts'
import type { Project } from './projects.ts'
import { proofNeeded } from './proof.ts'

const RELEASES = 5_000
const PROJECTS = 5_000

const reading = (hostname: Hostname) =>
  sql`select ${proofNeeded(sql`now()`)} from domains d where d.hostname = ${hostname} and d.deleted_at is null`

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
        return rowsRead(db, reading(hostname))
      }
      for (const given of [[second], [first], [third], [first, second, third]]) expect(await read(given)).toBeLessThan(20)
    } finally {
      await drop()
    }
  },
)

test.each(['before', 'after'])('however many projects name a CNAME target, few rows are read of them (statistics of %s)', async (when) => {
  const { db, drop } = await createTestDatabase()
  try {
    const project = await addProject(db)
    const [named, own, plain] = [await claim(db, project), await claim(db, project), await claim(db, project)]
    await db.pool.query(
      `insert into projects (name, slug, upstream_url, plan, proof, cname_target)
       select 'P', 'many-' || n, 'https://app.vendor.test', 'unlimited', 'proof', case when n % 2 = 0 then $1 else 'customers.v-' || n || '.test' end
       from generate_series(1, ${PROJECTS}) n`,
      [named],
    )
    await db.pool.query(`update projects set deleted_at = now(), cname_target = $1 where slug like 'many-%1'`, [plain])
    await db.pool.query('update projects set cname_target = $1 where id = $2', [own, project.id])
    if (when === 'after') await db.pool.query('analyze projects')
    for (const hostname of [named, own, plain]) expect(await rowsRead(db, reading(hostname))).toBeLessThan(20)
  } finally {
    await drop()
  }
})
