import { afterAll, beforeAll, expect, test } from 'vitest'
import { LINK_SIGNER } from '../../test/support/portal-parts.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject } from '../../test/support/tenants.ts'
import { OPERATOR } from './activity.ts'
import { changeRole, inviteMember, listMembers, type MemberChange, removeMember } from './members.ts'
import { deleteProject, type Project } from './projects.ts'
import { exchangeLink, requestSignIn } from './sign-in-links.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const ADA = 'ada@vendor.test'
const GRACE = 'grace@vendor.test'
const byOperator = (project: Project): MemberChange => ({ project, actor: OPERATOR, role: 'operator' })
const byAda = (project: Project): MemberChange => ({ project, actor: { kind: 'user', email: ADA }, role: 'owner' })

async function signIn(email: string): Promise<void> {
  await requestSignIn(database.db, email, 'open')
  const { rows } = await database.db.pool.query('select id from sign_in_links where email = $1 and used_at is null', [email])
  await exchangeLink(database.db, LINK_SIGNER, LINK_SIGNER.tokenOf(rows[0].id))
}

/** A project of Ada's, to which Grace is invited as a second owner. */
async function withInvitedOwner(): Promise<Project> {
  const project = await addProject(database.db)
  await inviteMember(database.db, byOperator(project), { email: ADA, role: 'owner' })
  await signIn(ADA)
  await inviteMember(database.db, byAda(project), { email: GRACE, role: 'owner' })
  return project
}

test('an owner can go once another has signed in, not when one is invited', async () => {
  const { db } = database
  const project = await withInvitedOwner()
  const refusal = { code: 'last_owner', message: expect.stringContaining('the only owner of the project who has signed in') }
  await expect(removeMember(db, byAda(project), ADA)).rejects.toMatchObject(refusal)
  await expect(changeRole(db, byAda(project), ADA, 'member')).rejects.toMatchObject(refusal)
  await signIn(GRACE)
  await removeMember(db, byAda(project), ADA)
  expect(await listMembers(db, project)).toMatchObject([{ email: GRACE, role: 'owner' }])
})

test('an owner who has signed in takes an invitation of another back, and an operator exchanges owners who never did', async () => {
  const { db } = database
  const project = await withInvitedOwner()
  await removeMember(db, byAda(project), GRACE)
  await inviteMember(db, byOperator(project), { email: 'lin@vendor.test', role: 'owner' })
  await removeMember(db, byOperator(project), ADA)
  await expect(removeMember(db, byOperator(project), 'lin@vendor.test')).rejects.toMatchObject({ code: 'last_owner' })
})

test('nobody is invited to a project that was deleted meanwhile, not by an operator either', async () => {
  const { db } = database
  const project = await addProject(db)
  await deleteProject(db, project)
  const inviting = inviteMember(db, byOperator(project), { email: 'late@vendor.test', role: 'owner' })
  await expect(inviting).rejects.toMatchObject({ code: 'project_not_found' })
  expect(await listMembers(db, project)).toEqual([])
})

test('one mailbox is one person, however the domain of its address is spelled', async () => {
  const { db } = database
  const project = await addProject(db)
  await inviteMember(db, byOperator(project), { email: 'lin@bücher.test', role: 'admin' })
  await requestSignIn(db, 'lin@xn--bcher-kva.test', 'invited')
  const { rows } = await db.pool.query<{ id: string }>(`select id from sign_in_links where email like 'lin@%'`)
  const { projects } = await exchangeLink(db, LINK_SIGNER, LINK_SIGNER.tokenOf(rows[0]!.id))
  expect(projects).toMatchObject([{ slug: project.slug, role: 'admin' }])
  await inviteMember(db, byOperator(project), { email: 'Lin@xn--bcher-kva.test', role: 'member' })
  expect(await listMembers(db, project)).toMatchObject([{ email: 'lin@xn--bcher-kva.test', role: 'admin' }])
  await removeMember(db, byOperator(project), 'lin@BÜCHER.test')
  expect(await listMembers(db, project)).toEqual([])
})
