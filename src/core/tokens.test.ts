import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { changesSince, endOfFeed } from '../../test/support/feed.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject } from '../../test/support/tenants.ts'
import { deleteProject } from './projects.ts'
import { findTokenOwner, issueToken, listTokens, recordTokenUses, revokeToken } from './tokens.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('an issued token leads to its project and is stored nowhere but as its hash', async () => {
  const project = await addProject(database.db)
  const issued = await issueToken(database.db, project.slug, { name: 'CI' })
  expect(issued.token).toMatch(/^svc_[a-f0-9]{64}$/)
  expect(await findTokenOwner(database.db, issued.token)).toEqual({ tokenId: issued.id, project })
  const stored = await database.db.pool.query('select * from tokens')
  expect(JSON.stringify(stored.rows)).not.toContain(issued.token.slice(4))
  const hash = createHash('sha256').update(issued.token).digest('hex')
  expect(await listTokens(database.db, project.slug)).toEqual([
    { id: issued.id, name: 'CI', preview: `sha256:${hash.slice(0, 12)}…`, createdAt: issued.createdAt, lastUsedAt: null, revokedAt: null },
  ])
})

test('whatever is no active token belongs to nobody', async () => {
  const project = await addProject(database.db)
  const { token } = await issueToken(database.db, project.slug, {})
  for (const text of [
    '',
    ` ${token}`,
    `${token} `,
    token.toUpperCase(),
    token.slice(0, -1),
    `${token}0`,
    `svc_${'0'.repeat(64)}`,
    `${token}\n`,
  ]) {
    expect(await findTokenOwner(database.db, text)).toBeUndefined()
  }
})

test('a revoked token is refused from then on, and every machine is told', async () => {
  const project = await addProject(database.db)
  const { id, token } = await issueToken(database.db, project.slug, {})
  const cursor = await endOfFeed(database.db)
  await revokeToken(database.db, project.slug, id)
  await revokeToken(database.db, project.slug, id)
  expect(await findTokenOwner(database.db, token)).toBeUndefined()
  expect((await listTokens(database.db, project.slug))[0]!.revokedAt).toMatch(/Z$/)
  expect(await changesSince(database.db, cursor)).toMatchObject([{ kind: 'token', key: id }])
})

test('a token that is issued while its project is deleted is refused, or revoked with it', async () => {
  for (let i = 0; i < 20; i += 1) {
    const project = await addProject(database.db)
    const [issued] = await Promise.all([
      issueToken(database.db, project.slug, {}).catch((error: { code: string }) => error.code),
      deleteProject(database.db, project),
    ])
    if (typeof issued === 'string') expect(issued).toBe('project_not_found')
    else expect(await findTokenOwner(database.db, issued.token)).toBeUndefined()
  }
})

test('a project has a thousand active tokens, however many are asked for at once', async () => {
  const project = await addProject(database.db)
  await database.db.pool.query(
    `insert into tokens (project_id, name, hash) select $1, '', sha256(('many ' || n)::bytea) from generate_series(1, 999) n`,
    [project.id],
  )
  const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => issueToken(database.db, project.slug, {})))
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  expect(refused).toEqual(
    Array.from({ length: 4 }, () =>
      expect.objectContaining({ code: 'rate_limited', message: expect.stringMatching(/1000 active.*revoke/) }),
    ),
  )
  const [token, ...rest] = await listTokens(database.db, project.slug)
  expect(rest).toHaveLength(999)
  await revokeToken(database.db, project.slug, token!.id)
  await issueToken(database.db, project.slug, {})
})

test('all active tokens are listed, and of the revoked ones the last 200', async () => {
  const project = await addProject(database.db)
  await database.db.pool.query(
    `insert into tokens (project_id, name, hash, revoked_at)
     select $1, n::text, sha256(('revoked ' || n)::bytea), case when n > 3 then now() + make_interval(secs => n) end from generate_series(1, 210) n`,
    [project.id],
  )
  const names = (await listTokens(database.db, project.slug)).map(({ name }) => Number(name))
  expect(names).toEqual([1, 2, 3, ...Array.from({ length: 200 }, (_, i) => i + 11)])
})

test("another project's token cannot be revoked, nor one that does not exist", async () => {
  const [project, other] = [await addProject(database.db), await addProject(database.db)]
  const { id, token } = await issueToken(database.db, project.slug, {})
  for (const tokenId of [id, '0', 'x', `${id}.0`, '9'.repeat(30)]) {
    await expect(revokeToken(database.db, other.slug, tokenId)).rejects.toMatchObject({ code: 'token_not_found' })
  }
  expect(await findTokenOwner(database.db, token)).toBeDefined()
})

test('last uses are written together, and only forward', async () => {
  const project = await addProject(database.db)
  const ids = [await issueToken(database.db, project.slug, {}), await issueToken(database.db, project.slug, {})].map(({ id }) => id)
  const late = new Date('2030-01-02T03:04:05.678Z')
  await recordTokenUses(database.db, new Map([...ids.map((id) => [id, late] as const), ['999999', late]]))
  await recordTokenUses(database.db, new Map([[ids[0]!, new Date('2029-01-01T00:00:00Z')]]))
  await recordTokenUses(database.db, new Map())
  expect((await listTokens(database.db, project.slug)).map(({ lastUsedAt }) => lastUsedAt)).toEqual([
    late.toISOString(),
    late.toISOString(),
  ])
})
