import { afterAll, beforeAll, expect, test } from 'vitest'
import { LINK_SIGNER } from '../../test/support/portal-parts.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { PROJECT_RULES } from '../../test/support/tenants.ts'
import { createOwnProject, showVisibleProject } from './portal-projects.ts'
import { createProject, deleteProject, findProject } from './projects.ts'
import { findSession, type Session } from './sessions.ts'
import { exchangeLink, requestSignIn } from './sign-in-links.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ poolMax: 20 })
})
afterAll(() => database.drop())

const wanted = { name: 'Shop', upstreamUrl: 'https://app.vendor.test' }

async function signIn(email: string): Promise<Session> {
  await requestSignIn(database.db, email, 'open')
  const { rows } = await database.db.pool.query<{ id: string }>('select id from sign_in_links where email = $1', [email])
  const { key } = await exchangeLink(database.db, LINK_SIGNER, LINK_SIGNER.tokenOf(rows[0]!.id))
  return findSession(database.db, key)
}

async function make(session: Session): Promise<string> {
  return createOwnProject(database.db, session, wanted, PROJECT_RULES).then(
    () => 'made',
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  )
}

test('what has gone while it was asked for is not found, and a session that has ended makes nothing', async () => {
  const { db } = database
  const session = await signIn('edsger@vendor.test')
  const project = await createOwnProject(db, session, wanted, PROJECT_RULES)
  await deleteProject(db, project)
  await expect(showVisibleProject(db, session, project, PROJECT_RULES.plans)).rejects.toMatchObject({ code: 'project_not_found' })
  await db.pool.query('delete from sessions where id = $1', [session.id])
  expect(await make(session)).toMatch('session_required')
  expect((await db.pool.query("select from members where email = 'edsger@vendor.test'")).rowCount).toBe(0)
})

test('a person makes at most fifty projects, also side by side, and hears what to do then', async () => {
  const ada = await signIn('ada@vendor.test')
  const outcomes = await Promise.all(Array.from({ length: 60 }, () => make(ada)))
  expect(outcomes.filter((outcome) => outcome === 'made')).toHaveLength(50)
  expect(new Set(outcomes)).toEqual(
    new Set(['made', expect.stringMatching(/^rate_limited: a person makes at most 50 projects: delete one .* or ask the operator/)]),
  )
  expect((await database.db.pool.query("select from members where email = 'ada@vendor.test'")).rowCount).toBe(50)
  expect(await make(await signIn('grace@vendor.test'))).toBe('made')
})

test('a project that was given up makes room a day later, and one from the operator takes none', async () => {
  const bob = await signIn('bob@vendor.test')
  for (let i = 0; i < 50; i += 1) await createProject(database.db, { ...wanted, plan: 'free', owner: bob.email }, PROJECT_RULES)
  const own = await createOwnProject(database.db, bob, wanted, PROJECT_RULES)
  for (let i = 1; i < 50; i += 1) expect(await make(bob)).toBe('made')
  await deleteProject(database.db, await findProject(database.db, own.slug), { kind: 'user', email: bob.email })
  expect(await make(bob)).toMatch(/^rate_limited: .*those that you deleted count for a day: try again tomorrow/)
  await database.db.pool.query(`update projects set deleted_at = now() - interval '1 day' where slug = $1`, [own.slug])
  expect(await make(bob)).toBe('made')
})
