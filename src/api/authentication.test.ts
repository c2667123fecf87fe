import { afterAll, beforeAll, expect, test } from 'vitest'
import { drawLine } from '../../test/support/cut-line.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject } from '../../test/support/tenants.ts'
import { closeDatabase, connectDatabase } from '../core/db.ts'
import { issueToken, listTokens, revokeToken } from '../core/tokens.ts'
import { createLog } from '../log.ts'
import { type Authenticator, createAuthenticator } from './authentication.ts'

const log = createLog('test', 'fatal')

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function issue() {
  const project = await addProject(database.db)
  const { id, token } = await issueToken(database.db, project.slug, {})
  return { project, id, header: `Bearer ${token}` }
}

function authenticator(parts: { isFresh?(): boolean; now?(): Date } = {}): Authenticator {
  return createAuthenticator({ db: database.db, log, isFresh: () => true, now: () => new Date(), ...parts })
}

const refused = { code: 'token_invalid' }

test('a token that was just seen is known at once, without the database', async () => {
  const { header, project } = await issue()
  const tokens = authenticator()
  const first = tokens.authenticate(header)
  expect(first).toBeInstanceOf(Promise)
  expect(await first).toMatchObject({ project: { id: project.id } })
  expect(tokens.authenticate(header)).toMatchObject({ project: { id: project.id } })
})

test('a revoked token is refused at the next request after its news, and five seconds later without any', async () => {
  const { header, project, id } = await issue()
  let nowMs = Date.now()
  const told = authenticator()
  const untold = authenticator({ now: () => new Date(nowMs) })
  await told.authenticate(header)
  await untold.authenticate(header)
  await revokeToken(database.db, project.slug, id)
  told.forgetToken(id)
  await expect(told.authenticate(header)).rejects.toMatchObject(refused)
  expect(untold.authenticate(header)).toMatchObject({ tokenId: id })
  nowMs += 5_000
  await expect(untold.authenticate(header)).rejects.toMatchObject(refused)
})

test('while news does not arrive, every request asks the database', async () => {
  const { header, project, id } = await issue()
  const tokens = authenticator({ isFresh: () => false })
  await tokens.authenticate(header)
  await revokeToken(database.db, project.slug, id)
  await expect(tokens.authenticate(header)).rejects.toMatchObject(refused)
})

test('a revocation that arrives while the token is looked up is not lost', async () => {
  const { header, id } = await issue()
  const tokens = authenticator()
  const looking = tokens.authenticate(header)
  tokens.forgetToken(id)
  await looking
  expect(tokens.authenticate(header)).toBeInstanceOf(Promise)
})

test('a token is refused from the answer to its revocation on, also while a look-up from before is under way', async () => {
  const [{ header, project, id }, warm] = [await issue(), await issue()]
  const line = await drawLine(database.url)
  const db = connectDatabase(line.url, { applicationName: 'test' })
  const tokens = createAuthenticator({ db, log, isFresh: () => true, now: () => new Date() })
  await tokens.authenticate(warm.header)
  const held = line.hold()
  const before = tokens.authenticate(header)
  await held.reached
  await revokeToken(database.db, project.slug, id)
  tokens.forgetToken(id)
  const after = tokens.authenticate(header)
  held.release()
  await expect(after).rejects.toMatchObject(refused)
  expect(await before).toMatchObject({ tokenId: id })
  await closeDatabase(db)
  await line.cut()
})

test('after a gap in the news every token is asked for again, and one that was revoked in it is refused', async () => {
  const [kept, revoked] = [await issue(), await issue()]
  const tokens = authenticator()
  for (const { header } of [kept, revoked]) await tokens.authenticate(header)
  await revokeToken(database.db, revoked.project.slug, revoked.id)
  tokens.doubtTokens()
  const asked = tokens.authenticate(kept.header)
  expect(asked).toBeInstanceOf(Promise)
  await asked
  expect(tokens.authenticate(kept.header)).toMatchObject({ tokenId: kept.id })
  await expect(tokens.authenticate(revoked.header)).rejects.toMatchObject(refused)
})

test('a project that changes has its own tokens asked for again, and nobody else’s', async () => {
  const [own, other] = [await issue(), await issue()]
  const tokens = authenticator()
  for (const { header } of [own, other]) await tokens.authenticate(header)
  const looking = authenticator()
  const found = looking.authenticate(own.header)
  for (const one of [tokens, looking]) one.doubtProjects([own.project.id])
  await found
  expect(looking.authenticate(own.header)).toBeInstanceOf(Promise)
  expect(tokens.authenticate(other.header)).toMatchObject({ tokenId: other.id })
  expect(await tokens.authenticate(own.header)).toMatchObject({ tokenId: own.id })
  expect(tokens.authenticate(own.header)).toMatchObject({ tokenId: own.id })
})

test('a token that is looked up while the news has its gap is asked for again', async () => {
  const { header } = await issue()
  const tokens = authenticator()
  const looking = tokens.authenticate(header)
  tokens.doubtTokens()
  await looking
  expect(tokens.authenticate(header)).toBeInstanceOf(Promise)
})

test('during an outage of the database a token that is known still serves for a quarter of an hour, also after a gap in the news; one that was revoked or is unknown does not', async () => {
  const [known, revoked] = [await issue(), await issue()]
  const line = await drawLine(database.url)
  const db = connectDatabase(line.url, { applicationName: 'test' })
  let nowMs = Date.now()
  const tokens = createAuthenticator({ db, log, isFresh: () => false, now: () => new Date(nowMs) })
  await tokens.authenticate(known.header)
  await tokens.authenticate(revoked.header)
  tokens.forgetToken(revoked.id)
  await line.cut()
  const unavailable = { code: 'database_unavailable' }
  expect(await tokens.authenticate(known.header)).toMatchObject({ tokenId: known.id })
  await expect(tokens.authenticate(revoked.header)).rejects.toMatchObject(unavailable)
  tokens.doubtTokens()
  expect(await tokens.authenticate(known.header)).toMatchObject({ tokenId: known.id })
  await expect(tokens.authenticate(revoked.header)).rejects.toMatchObject(unavailable)
  await expect(tokens.authenticate(`Bearer svc_${'0'.repeat(64)}`)).rejects.toMatchObject(unavailable)
  nowMs += 15 * 60_000
  await expect(tokens.authenticate(known.header)).rejects.toMatchObject(unavailable)
  await closeDatabase(db)
})

test('the last uses are written down together, and at the end', async () => {
  const issued = [await issue(), await issue()]
  const tokens = authenticator()
  for (const { header } of [...issued, ...issued]) await tokens.authenticate(header)
  await tokens.close()
  for (const { project } of issued) {
    const [token] = await listTokens(database.db, project.slug)
    expect(token!.lastUsedAt).not.toBeNull()
  }
})
