import { afterAll, beforeAll, expect, test } from 'vitest'
import { LINK_SIGNER } from '../../test/support/portal-parts.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject } from '../../test/support/tenants.ts'
import { inviteMember } from './members.ts'
import { deleteProject } from './projects.ts'
import { exchangeLink, findLinkEmail, requestSignIn } from './sign-in-links.ts'

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

test('where only who was invited may sign in, a stranger costs the same work as a member, and gets a link that opens nothing', async () => {
  const { db } = database
  const project = await addProject(db)
  await inviteMember(db, { project, actor: { kind: 'operator' }, role: 'operator' }, { email: 'member@vendor.test', role: 'member' })
  const ask = async (email: string) => {
    await requestSignIn(db, email, 'invited')
    const { rows } = await db.pool.query('select id from sign_in_links where email = $1', [email])
    const { rowCount } = await db.pool.query(`select from graphile_worker._private_jobs where payload->>'linkId' = $1`, [rows[0]?.id])
    expect([rows.length, rowCount]).toEqual([1, 1])
    return LINK_SIGNER.tokenOf(rows[0].id)
  }
  expect(await findLinkEmail(db, LINK_SIGNER, await ask('member@vendor.test'))).toBe('member@vendor.test')
  const token = await ask('stranger@vendor.test')
  await expect(findLinkEmail(db, LINK_SIGNER, token)).rejects.toMatchObject({ code: 'magic_link_invalid' })
  await expect(exchangeLink(db, LINK_SIGNER, token)).rejects.toMatchObject({ code: 'magic_link_invalid' })
})
