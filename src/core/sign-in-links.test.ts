import { afterAll, beforeAll, expect, test } from 'vitest'
import { LINK_SIGNER } from '../../test/support/portal-parts.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject } from '../../test/support/tenants.ts'
import { OPERATOR } from './activity.ts'
import { inviteMember, removeMember } from './members.ts'
import { deleteProject } from './projects.ts'
import { listMemberships } from './sessions.ts'
import { exchangeLink, findLinkEmail, requestSignIn } from './sign-in-links.ts'

const ROUNDS = 12
const INVITED = 6

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ poolMax: 10 })
})
afterAll(() => database.drop())

async function linkFor(email: string): Promise<string> {
  const { rows } = await database.db.pool.query(
    `insert into sign_in_links (email, expires_at) values ($1, now() + interval '10 minutes') returning id`,
    [email],
  )
  return LINK_SIGNER.tokenOf(rows[0].id)
}

test('who was invited signs in for the first time while the project is deleted, and neither stands in the other’s way', async () => {
  const { db } = database
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

test('who signs in while they are removed from a project, and is invited again, sees it at the next sign-in as anybody does', async () => {
  const { db } = database
  const change = { project: await addProject(db), actor: OPERATOR, role: 'operator' as const }
  const wanted = { email: 'leaves@vendor.test', role: 'member' as const }
  await inviteMember(db, change, wanted)
  const former = await exchangeLink(db, LINK_SIGNER, await linkFor(wanted.email))
  const waiting = async () =>
    (await db.pool.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)).rowCount
  const holder = await db.pool.connect()
  await holder.query('begin')
  await holder.query('select from sessions where id = $1 for update', [former.session.id])
  const signingIn = exchangeLink(db, LINK_SIGNER, await linkFor(wanted.email), former.key) // which ends the former session
  await expect.poll(waiting).toBe(1)
  let removed = false
  const removing = removeMember(db, change, wanted.email).then(() => {
    removed = true
  })
  await expect.poll(async () => removed || (await waiting()) === 2).toBe(true)
  await holder.query('commit')
  holder.release()
  await removing
  const { session } = await signingIn
  await inviteMember(db, change, wanted)
  expect(await listMemberships(db, session)).toEqual([])
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
