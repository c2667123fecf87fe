import { afterAll, beforeAll, expect, test } from 'vitest'
import { changesSince, endOfFeed } from '../../test/support/feed.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim, PROJECT_RULES } from '../../test/support/tenants.ts'
import { ServiceError } from '../errors.ts'
import { listActivity } from './activity.ts'
import { changeRole, inviteMember, type MemberChange, removeMember } from './members.ts'
import { loadProjects } from './project-pages.ts'
import { createProject, deleteProject, findProject, listProjects, type ProjectRules, updateProject } from './projects.ts'
import { issueToken, revokeToken } from './tokens.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const wanted = { name: 'Acme', upstreamUrl: 'https://app.acme.test', plan: 'unlimited' }

test('a project comes back as it was made, and a slug once made is found', async () => {
  const made = await createProject(database.db, { ...wanted, name: ' Acme Shops ', slug: 'acme-shops' }, PROJECT_RULES)
  expect(made).toEqual({
    id: expect.stringMatching(/^\d+$/),
    name: 'Acme Shops',
    slug: 'acme-shops',
    upstreamUrl: 'https://app.acme.test',
    upstreamProtocol: 'http1',
    plan: 'unlimited',
    proof: expect.stringMatching(/^namesake-proof-[0-9a-f]{32}$/),
    cnameTarget: null,
  })
  expect(await findProject(database.db, 'acme-shops')).toEqual(made)
  await expect(findProject(database.db, 'nobody')).rejects.toMatchObject({ code: 'project_not_found' })
})

test('a slug that is not given comes from the name, with a suffix when it is taken', async () => {
  const slugs = []
  for (let i = 0; i < 2; i += 1)
    slugs.push((await createProject(database.db, { ...wanted, name: 'Café Übergrößen, Inc.' }, PROJECT_RULES)).slug)
  expect(slugs).toEqual(['cafe-ubergro-en-inc', expect.stringMatching(/^cafe-ubergro-en-inc-[0-9a-f]{6}$/)])
  expect((await createProject(database.db, { ...wanted, name: '日本' }, PROJECT_RULES)).slug).toBe('project')
})

test('the owner of a new project is a member of it, and a project that could not be made leaves none', async () => {
  const members = (slug: string) =>
    database.db.pool
      .query<{ email: string; role: string }>('select email, role from members join projects p on p.id = project_id where slug = $1', [
        slug,
      ])
      .then(({ rows }) => rows)
  await createProject(database.db, { ...wanted, slug: 'owned', owner: ' Ada@Vendor.com ' }, PROJECT_RULES)
  expect(await members('owned')).toEqual([{ email: 'ada@vendor.com', role: 'owner' }])
  await expect(createProject(database.db, { ...wanted, slug: 'owned', owner: 'eve@vendor.com' }, PROJECT_RULES)).rejects.toThrow(/taken/)
  expect(await members('owned')).toHaveLength(1)
  await expect(createProject(database.db, { ...wanted, owner: 'nobody' }, PROJECT_RULES)).rejects.toThrow(
    expect.objectContaining({ code: 'email_invalid' }),
  )
})

test('what no project may be is refused with its reason', async () => {
  await createProject(database.db, { ...wanted, slug: 'taken' }, PROJECT_RULES)
  const refused = {
    slug_taken: [{ slug: 'taken' }],
    slug_invalid: [{ slug: '' }, { slug: 'A' }, { slug: '-a' }, { slug: 'a--b' }, { slug: 'a-' }, { slug: 'x'.repeat(64) }],
    name_invalid: [{ name: ' ' }, { name: 'x'.repeat(81) }, { name: 'a\0b' }, { name: '\ud800' }],
    plan_unknown: [{ plan: 'gold' }],
    upstream_invalid: [
      ...['', 'app.acme.test', 'ftp://a.test', 'https://', 'https:/a.test', 'https:a.test', 'https://a.test/x', 'https://a.test//'],
      ...['https://a.test?', 'https://a.test#', 'https://u@a.test', 'https://u:p@a.test', 'https://a.test:0', 'https://a.test:99999'],
      ...[' https://a.test', 'https://a.test\n', 'https://a.test\\x', `https://${'a'.repeat(2_050)}.test`],
    ].map((upstreamUrl) => ({ upstreamUrl })),
  }
  for (const [code, rows] of Object.entries(refused)) {
    for (const row of rows) {
      await expect(createProject(database.db, { ...wanted, ...row }, PROJECT_RULES), JSON.stringify(row)).rejects.toMatchObject({ code })
    }
  }
})

test('an upstream is stored as it was given, when the rules let it', async () => {
  for (const upstreamUrl of ['http://localhost:3000', 'https://App.Acme.test/', 'http://[::1]:8080', 'https://a.test:443']) {
    expect((await createProject(database.db, { ...wanted, upstreamUrl }, PROJECT_RULES)).upstreamUrl).toBe(upstreamUrl)
  }
  const checkUpstream = async (url: URL) => {
    throw new ServiceError('upstream_forbidden', `${url.hostname} is private`)
  }
  await expect(createProject(database.db, wanted, { ...PROJECT_RULES, checkUpstream })).rejects.toMatchObject({
    code: 'upstream_forbidden',
  })
})

test('an update changes what it names, keeps the rest, and tells every machine with one change', async () => {
  const project = await addProject(database.db)
  const cursor = await endOfFeed(database.db)
  const updated = await updateProject(database.db, project.slug, { upstreamUrl: 'https://new.acme.test' }, PROJECT_RULES)
  expect(updated).toEqual({ ...project, upstreamUrl: 'https://new.acme.test' })
  expect(await findProject(database.db, project.slug)).toEqual(updated)
  expect(await changesSince(database.db, cursor)).toMatchObject([{ kind: 'project', key: project.id }])
  await expect(updateProject(database.db, 'nobody', {}, PROJECT_RULES)).rejects.toMatchObject({ code: 'project_not_found' })
  await expect(updateProject(database.db, project.slug, { plan: 'gold' }, PROJECT_RULES)).rejects.toMatchObject({ code: 'plan_unknown' })
})

test('an update to what is so already is no news for anybody, and no activity', async () => {
  const { db } = database
  const project = await addProject(db)
  const change = {
    ...{ name: 'Shops', upstreamUrl: 'https://new.acme.test', brand: { color: '#1A56C4', logoUrl: null } },
    ...{ errorPage: '<p>Back soon</p>', cnameTarget: 'customers.acme.test' },
  }
  const updated = await updateProject(db, project.slug, change, PROJECT_RULES)
  const [cursor, { entries }] = [await endOfFeed(db), await listActivity(db, project, {})]
  for (const again of [change, { name: ' Shops ' }, {}])
    expect(await updateProject(db, project.slug, again, PROJECT_RULES)).toEqual(updated)
  expect(await changesSince(db, cursor)).toEqual([])
  expect((await listActivity(db, project, {})).entries).toEqual(entries)
})

test('whoever is removed or loses their role while a change of theirs is under way changes nothing', async () => {
  const { db } = database
  const owner = 'olga@vendor.test'
  const { slug, ...project } = await createProject(db, { ...wanted, owner }, PROJECT_RULES)
  const change: MemberChange = { project: { slug, ...project }, actor: { kind: 'user', email: owner }, role: 'owner' }
  const eve = { kind: 'user', email: 'eve@vendor.test' } as const
  const during = (meanwhile: () => Promise<unknown>): ProjectRules => ({
    ...PROJECT_RULES,
    checkUpstream: async () => void (await meanwhile()),
  })
  const update = (rules: ProjectRules) => updateProject(db, slug, { upstreamUrl: 'https://evil.test' }, rules, eve)

  await inviteMember(db, change, { email: eve.email, role: 'admin' })
  await expect(update(during(() => changeRole(db, change, eve.email, 'member')))).rejects.toMatchObject({ code: 'role_insufficient' })
  await changeRole(db, change, eve.email, 'admin')
  const { id } = await issueToken(db, slug, {}, eve)
  await expect(update(during(() => removeMember(db, change, eve.email)))).rejects.toMatchObject({ code: 'project_not_found' })
  const deeds = [() => issueToken(db, slug, {}, eve), () => revokeToken(db, slug, id, eve), () => deleteProject(db, change.project, eve)]
  for (const deed of deeds) await expect(deed()).rejects.toMatchObject({ code: 'project_not_found' })
  expect((await findProject(db, slug)).upstreamUrl).toBe(wanted.upstreamUrl)
  await deleteProject(db, change.project, change.actor)
  await expect(deleteProject(db, change.project)).rejects.toMatchObject({ code: 'project_not_found' })
})

test('an error page of one’s own is kept as it was sent, told to every machine, and not copied into the list of what happened', async () => {
  const project = await addProject(database.db)
  const cursor = await endOfFeed(database.db)
  const html = '<p>{{hostname}} “ü” {{requestId}}</p>'
  const change = (errorPage: string | null) => updateProject(database.db, project.slug, { errorPage }, PROJECT_RULES)
  const kept = async () => (await loadProjects(database.db, [project.id]))[0]
  const before = await kept()
  await change(html)
  expect(await kept()).toMatchObject({ id: project.id, name: project.name, errorPage: html })
  expect((await kept())!.version).toBeGreaterThan(before!.version)
  expect(await changesSince(database.db, cursor)).toMatchObject([{ kind: 'project', key: project.id }])
  expect(JSON.stringify(await listActivity(database.db, project, { limit: undefined, cursor: undefined }))).not.toContain('hostname')
  await updateProject(database.db, project.slug, { name: 'Renamed' }, PROJECT_RULES)
  expect(await kept()).toMatchObject({ name: 'Renamed', errorPage: html })
  for (const bad of ['ü'.repeat(16_385), 'a\0b', '\ud800']) await expect(change(bad)).rejects.toMatchObject({ code: 'error_page_invalid' })
  await change('ü'.repeat(16_384))
  await change(null)
  expect(await kept()).toMatchObject({ errorPage: null })
})

test('a CNAME target is kept in the letters of the DNS once the rules let it, noted with who set it, and taken away by null', async () => {
  const { db } = database
  const project = await addProject(db)
  const asked: string[] = []
  const change = (cnameTarget: string | null, checkCnameTarget = async (target: string) => void asked.push(target)) =>
    updateProject(db, project.slug, { cnameTarget }, { ...PROJECT_RULES, checkCnameTarget })
  expect(await change('Kunden.Bücher.test.')).toEqual({ ...project, cnameTarget: 'kunden.xn--bcher-kva.test' })
  expect(asked).toEqual(['kunden.xn--bcher-kva.test'])
  for (const bad of ['', 'https://customers.vendor.test', '*.vendor.test', 'localhost', '192.0.2.1'])
    await expect(change(bad), bad).rejects.toMatchObject({ code: 'hostname_invalid' })
  const refuse = async () => {
    throw new ServiceError('cname_target_invalid', 'it leads elsewhere')
  }
  await expect(change('customers.vendor.test', refuse)).rejects.toMatchObject({ code: 'cname_target_invalid' })
  await updateProject(db, project.slug, { name: 'Renamed' }, PROJECT_RULES)
  expect(await findProject(db, project.slug)).toMatchObject({ name: 'Renamed', cnameTarget: 'kunden.xn--bcher-kva.test' })
  expect(await change(null, refuse)).toMatchObject({ cnameTarget: null })
  const { entries } = await listActivity(db, project, {})
  const noted = entries.filter(({ detail }) => 'cnameTarget' in detail).map(({ actor, detail }) => ({ actor, detail }))
  expect(noted).toEqual([
    { actor: { kind: 'operator' }, detail: { cnameTarget: null } },
    { actor: { kind: 'operator' }, detail: { cnameTarget: 'kunden.xn--bcher-kva.test' } },
  ])
})

test('an upstream is spoken to over HTTP/2 where its address allows that, and URL and protocol can change together', async () => {
  const change = (wanted: Parameters<typeof updateProject>[2]) => updateProject(database.db, project.slug, wanted, PROJECT_RULES)
  const refused = expect.objectContaining({
    code: 'upstream_invalid',
    message: expect.stringMatching(/h2 needs an https URL, and h2c an http URL/),
  })
  const project = await createProject(database.db, { ...wanted, upstreamProtocol: 'h2' }, PROJECT_RULES)
  expect(project.upstreamProtocol).toBe('h2')
  await expect(createProject(database.db, { ...wanted, upstreamProtocol: 'h2c' }, PROJECT_RULES)).rejects.toEqual(refused)
  await expect(change({ upstreamProtocol: 'h2c' })).rejects.toEqual(refused)
  await expect(change({ upstreamUrl: 'http://app.acme.test' })).rejects.toEqual(refused)
  expect(await change({ upstreamProtocol: 'h2c', upstreamUrl: 'HTTP://app.acme.test' })).toMatchObject({ upstreamProtocol: 'h2c' })
  await expect(change({ upstreamProtocol: 'h3' })).rejects.toMatchObject({
    code: 'upstream_invalid',
    message: expect.stringMatching(/http1, h2, h2c/),
  })
  expect(await change({ name: 'Still' })).toMatchObject({ upstreamProtocol: 'h2c', upstreamUrl: 'HTTP://app.acme.test' })
})

test('the list of projects counts their live domains', async () => {
  const project = await addProject(database.db)
  for (let i = 0; i < 3; i += 1) await claim(database.db, project)
  const listed = (await listProjects(database.db)).find(({ id }) => id === project.id)
  expect(listed).toEqual({ ...project, domains: 3, createdAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) })
})
