import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { addProject } from '../../test/support/tenants.ts'
import { listMembers } from './members.ts'
import { foldStoredAddresses } from './stored-addresses.ts'

const LETTERS = 'ada@bücher.test'
const DNS = 'ada@xn--bcher-kva.test'

test('a person whom an earlier version knew by two spellings of a domain is one, with the higher role and what they had', async () => {
  const { db, drop } = await createTestDatabase()
  onTestFinished(drop)
  const [twice, once] = [await addProject(db), await addProject(db)]
  await db.pool.query(
    `insert into members (project_id, email, role, created_at, joined_at) values
       (${twice.id}, '${LETTERS}', 'owner', '2026-01-01Z', null), (${twice.id}, '${DNS}', 'member', '2026-02-01Z', '2026-02-02Z'),
       (${once.id}, '${LETTERS}', 'member', '2026-03-01Z', '2026-03-02Z'), (${once.id}, 'жук@vendor.test', 'admin', '2026-04-01Z', null);
     insert into sessions (hash, email, expires_at) values ('\\x01', '${LETTERS}', now() + interval '1 day');
     insert into sign_in_links (email, expires_at) values ('${LETTERS}', now() + interval '1 minute');
     insert into activity (project_id, actor, action, subject)
       values (${once.id}, jsonb_build_object('kind', 'user', 'email', '${LETTERS}'), 'project.created', '${once.slug}')`,
  )
  await Promise.all([foldStoredAddresses(db), foldStoredAddresses(db)]) // machines that start together
  await foldStoredAddresses(db)
  expect(await listMembers(db, twice)).toEqual([
    { email: DNS, role: 'owner', invitedAt: '2026-01-01T00:00:00.000Z', joinedAt: '2026-02-02T00:00:00.000Z' },
  ])
  expect(await listMembers(db, once)).toMatchObject([
    { email: DNS, role: 'member', joinedAt: '2026-03-02T00:00:00.000Z' },
    { email: 'жук@vendor.test', role: 'admin' },
  ])
  const { rows } = await db.pool.query(
    `select email from sessions union all select email from sign_in_links union all select actor->>'email' from activity where action = 'project.created' and actor ? 'email'`,
  )
  expect(rows).toEqual([{ email: DNS }, { email: DNS }, { email: DNS }])
})
