import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES, claim, freshHostname } from '../../test/support/tenants.ts'
import { type Hostname, parseHostname, wildcardOver } from '../hostname.ts'
import type { Db } from './db.ts'
import { changeMetadata, listDomains, registerDomain, removeDomain } from './domains.ts'
import { findProbeTarget } from './probes.ts'
import { deleteProject, type Project } from './projects.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase({ poolMax: 40 })
  db = database.db
})
afterAll(() => database.drop())

async function outcome(project: Project, hostname: Hostname, metadataJson = '{}'): Promise<string> {
  try {
    await registerDomain(db, project, { hostname, metadataJson }, CLAIM_RULES)
    return 'claimed'
  } catch (error) {
    return (error as { code: string }).code
  }
}

const held = async (project: Project) => (await listDomains(db, project, {})).domains.map(({ hostname }) => hostname)

test.each(['unlimited', 'free'])('of two projects that race for one hostname exactly one wins, 200 times (plan %s)', async (plan) => {
  const pairs = Array.from({ length: 200 }, () => freshHostname())
  const projects = await Promise.all(pairs.map(async () => [await addProject(db, plan), await addProject(db, plan)] as const))
  const outcomes = await Promise.all(
    pairs.map((hostname, i) => Promise.all([outcome(projects[i]![0], hostname), outcome(projects[i]![1], hostname)])),
  )
  for (const pair of outcomes) expect(pair.sort()).toEqual(['claimed', 'hostname_claimed'])
})

test('fifty parallel claims at a limit of ten leave exactly ten', async () => {
  const project = await addProject(db, 'ten')
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => outcome(project, freshHostname())))
  expect(outcomes.filter((kind) => kind === 'claimed')).toHaveLength(10)
  expect(outcomes.filter((kind) => kind === 'plan_limit')).toHaveLength(40)
  expect(await held(project)).toHaveLength(10)
})

test('fifty parallel registrations of one hostname are one claim with all their metadata, even at the limit', async () => {
  for (const plan of ['free', 'unlimited']) {
    const project = await addProject(db, plan)
    for (let i = 0; i < 2; i += 1) await claim(db, project)
    const hostname = freshHostname()
    const outcomes = await Promise.all(Array.from({ length: 50 }, (_, i) => outcome(project, hostname, `{"k${i}":${i}}`)))
    expect(new Set(outcomes)).toEqual(new Set(['claimed']))
    const { domains } = await listDomains(db, project, { search: hostname })
    expect(domains).toHaveLength(1)
    expect(Object.keys(JSON.parse(domains[0]!.metadataJson))).toHaveLength(50)
  }
})

test.each(['unlimited', 'free'])(
  'a claim behind the deletion of its project is refused and leaves the hostname free (plan %s)',
  async (plan) => {
    for (let i = 0; i < 20; i += 1) {
      const [project, other, hostname] = [await addProject(db, plan), await addProject(db), freshHostname()]
      const [deleted, claimed] = await Promise.all([
        deleteProject(db, project).then(
          () => 'deleted',
          (error: { code: string }) => error.code,
        ),
        outcome(project, hostname),
      ])
      expect([deleted, claimed].sort()).toEqual(deleted === 'deleted' ? ['deleted', 'project_not_found'] : ['claimed', 'project_not_empty'])
      expect(await outcome(other, hostname)).toBe(deleted === 'deleted' ? 'claimed' : 'hostname_claimed')
    }
    const [gone, hostname] = [await addProject(db, plan), freshHostname()]
    await deleteProject(db, gone)
    expect(await outcome(gone, hostname)).toBe('project_not_found')
  },
)

test('a hostname that changes hands under parallel claims always owes its proof', async () => {
  const holder = await addProject(db)
  const hostnames = await Promise.all(Array.from({ length: 50 }, () => claim(db, holder)))
  const heirs = await Promise.all(hostnames.map(() => addProject(db)))
  await Promise.all(
    hostnames.map(async (hostname, i) => {
      const waitForIt = async () => {
        while ((await outcome(heirs[i]!, hostname)) !== 'claimed');
      }
      await Promise.all([waitForIt(), removeDomain(db, holder, hostname)])
    }),
  )
  for (const [i, hostname] of hostnames.entries()) expect((await findProbeTarget(db, heirs[i]!, hostname)).proofNeeded).toBe(true)
})

test('a hostname that its project claims and removes side by side leaves no probe behind', async () => {
  const project = await addProject(db)
  const hostnames = Array.from({ length: 300 }, () => freshHostname())
  const remove = (hostname: Hostname) => removeDomain(db, project, hostname).catch((error: { code: string }) => error.code)
  await Promise.all(hostnames.flatMap((hostname) => [remove(hostname), outcome(project, hostname), remove(hostname)]))
  const { rows } = await db.pool.query(
    'select from domains d where hostname = any($1) and (deleted_at is null) <> exists (select from probes where domain_id = d.id)',
    [hostnames],
  )
  expect(rows).toHaveLength(0)
})

test('a claim that had to wait is newer than all that its hostname went through meanwhile', async () => {
  const [holder, heir] = [await addProject(db), await addProject(db)]
  const hostname = await claim(db, holder)
  const versions = async () =>
    (await db.pool.query<{ version: string }>('select version from domains where hostname = $1 order by id', [hostname])).rows
  const blocker = await db.pool.connect()
  await blocker.query('begin')
  await blocker.query(`select pg_advisory_xact_lock(hashtextextended('family of ' || substr($1, strpos($1, '.') + 1), 0))`, [hostname])
  const waiting = outcome(heir, hostname)
  const waits = `select from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`
  await expect.poll(async () => (await db.pool.query(waits)).rowCount).toBe(1)
  await changeMetadata(db, holder, { hostname, metadataJson: '{"plan":"gold"}' })
  const [{ version: last }] = (await versions()) as [{ version: string }]
  await removeDomain(db, holder, hostname)
  await blocker.query('commit')
  blocker.release()
  expect(await waiting).toBe('claimed')
  expect(Number((await versions()).at(-1)!.version)).toBeGreaterThan(Number(last))
})

const wild = { ...CLAIM_RULES, wildcards: true }
const race = async (project: Project, hostname: Hostname) => {
  try {
    await registerDomain(db, project, { hostname, metadataJson: '{}' }, wild)
    return 'claimed'
  } catch (error) {
    return (error as { code: string }).code
  }
}

test.each(['unlimited', 'free'])(
  'of a wildcard and a name under it exactly one project gets its own, 200 times (plan %s)',
  async (plan) => {
    const hostnames = Array.from({ length: 200 }, () => freshHostname(freshHostname()))
    const projects = await Promise.all(hostnames.map(async () => [await addProject(db, plan), await addProject(db, plan)] as const))
    const outcomes = await Promise.all(
      hostnames.map((hostname, i) => {
        const claims = [() => race(projects[i]![0], hostname), () => race(projects[i]![1], wildcardOver(hostname))]
        return Promise.all((i % 2 ? claims : claims.reverse()).map((begin) => begin()))
      }),
    )
    for (const pair of outcomes) expect(pair.sort()).toEqual(['claimed', 'hostname_claimed'])
  },
)

test('names under one domain that are claimed all at once do not wait for each other in vain', async () => {
  const domain = freshHostname()
  const projects = await Promise.all(Array.from({ length: 20 }, () => addProject(db)))
  const outcomes = await Promise.all(projects.flatMap((project) => Array.from({ length: 10 }, () => race(project, freshHostname(domain)))))
  expect(new Set(outcomes)).toEqual(new Set(['claimed']))
})

test('a name that its project gives up while another claims it stays under the wildcard that the project keeps', async () => {
  const [holder, other] = [await addProject(db), await addProject(db)]
  const rules = { ...CLAIM_RULES, wildcards: true }
  const hostname = parseHostname(`shop.${freshHostname()}`)
  for (const name of [wildcardOver(hostname), hostname]) await registerDomain(db, holder, { hostname: name, metadataJson: '{}' }, rules)
  const removing = await db.pool.connect()
  try {
    await removing.query('begin')
    await removing.query('delete from probes using domains where id = domain_id and hostname = $1', [hostname])
    await removing.query('update domains set deleted_at = now() where hostname = $1', [hostname])
    const claimed = outcome(other, hostname)
    const waiting = `select from pg_stat_activity where wait_event = 'transactionid' and datname = current_database()`
    await expect.poll(async () => (await db.pool.query(waiting)).rowCount).toBe(1)
    await removing.query('commit')
    expect(await claimed).toBe('hostname_claimed')
  } finally {
    removing.release(true)
  }
  expect(await held(other)).toEqual([])
})
