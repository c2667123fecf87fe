import { afterAll, beforeAll, expect, test } from 'vitest'
import { LINK_SIGNER } from '../../test/support/portal-parts.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject } from '../../test/support/tenants.ts'
import { inviteMember } from './members.ts'
import { deleteProject } from './projects.ts'
import { exchangeLink } from './sign-in-links.ts'

const ROUNDS = 12
const INVITED = 6

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ poolMax: 10 })
})
afterAll(() => database.drop())

test('who was invited signs in for the first time while the project is deleted, and neither stands in the other’s way', async () => {
  const { db } = database
  const linkFor = async (email: string) => {
    const { rows } = await db.pool.query(
      `insert into sign_in_links (email, expires_at) values ($1, now() + interval '10 minutes') returning id`,
      [email],
    )
    return LINK_SIGNER.tokenOf(rows[0].id)
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const project = await addProject(db)
    const emails = Array.from({ length: INVITED }, (_, i) => `invited-${round}-${i}@vendor.test`)
    for (const email of emails)
      await inviteMember(db, { project, actor: { kind: 'operator' }, role: 'operator' }, { email, role: 'member' })
    const links = await Promise.all(emails.map(linkFor))
    const sessions = links.map((link) => exchangeLink(db, LINK_SIGNER, link))
    for (let turns = 0; turns < round; turns += 1) await new Promise(setImmediate)
    await Promise.all([...sessions, deleteProject(db, project)])
    for (const { projects } of await Promise.all(sessions)) expect(projects.length).toBeLessThanOrEqual(1)
  }
})
