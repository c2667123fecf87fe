import { sql } from 'kysely'
import { type Db, rows, transaction } from './db.ts'
import type { Migration } from './migrations.ts'

/** The group that the login of an edge machine is put into: `grant namesake_edge to …`. */
export const EDGE_ROLE = 'namesake_edge'

/** For an administrator, where our own login may create no roles. */
export const CREATE_EDGE_ROLE = `create role ${EDGE_ROLE} nologin;`

const GRANT_LOCK = 5_217_303_602 // two that grant on one table at once would trip over each other

// All that src/roles/follower.ts and src/roles/dns.ts do with the database. Whoever adds to that adds a column here, and sees why it should not.
const GRANTS = [
  'select (name) on migrations',
  'select (life, pruned_xid, pruned_seq) on feed',
  'select on feed_beats',
  'select on feed_marks',
  'select (xid, seq, kind, key, created_at) on changes',
  'select (id, slug, name, upstream_url, upstream_protocol, brand_color, error_page, cname_target, version, deleted_at) on projects',
  'select (id, project_id, hostname, version, created_at, verified_at, deleted_at) on domains',
  'select (domain_id, delegated) on probes',
  `select (hostname, project_id, state, chain_pem, sealed_key, not_after, renew_at, directory, wished_from, lease_until, next_attempt_at,
    last_problem, last_sentence, last_attempt_at, postponed_until, postponed_reason, renewal_stopped_at, version) on certificates`,
  'select on challenges',
  'select, insert, update on edges',
  'execute on function ask_for_certificate(text), ask_for_probe(text), edge_setting(text)',
]

/** `forbidden`: our login may not create roles; an administrator runs `statement`, then `namesake migrate` grants. */
export type EdgeRole = { kind: 'ready' } | { kind: 'forbidden'; statement: string }

/**
 * Makes the group of edge machines, which other installations of the same cluster may have made, and grants it what this release's edges
 * need of this database. Repeatable, and to be called after each migration. Without the right to create roles nothing is changed.
 */
export async function prepareEdgeRole(db: Db): Promise<EdgeRole> {
  return transaction(db, async (tx) => {
    await rows(tx, sql`select pg_advisory_xact_lock(${GRANT_LOCK})`)
    await rows(
      tx,
      sql`do $$ begin
        if not exists (select from pg_roles where rolname = '${sql.raw(EDGE_ROLE)}') then
          create role ${sql.raw(EDGE_ROLE)} nologin;
        end if;
      exception
        when insufficient_privilege then null;
        when duplicate_object or unique_violation then null; -- another database's setup was faster
      end $$`,
    )
    const found = await rows(tx, sql`select from pg_roles where rolname = ${EDGE_ROLE}`)
    if (found.length === 0) return { kind: 'forbidden', statement: CREATE_EDGE_ROLE }
    for (const grant of GRANTS) await rows(tx, sql.raw(`grant ${grant} to ${EDGE_ROLE}`))
    await rows(
      tx,
      sql`do $$ begin
        if not has_schema_privilege('${sql.raw(EDGE_ROLE)}', current_schema(), 'usage') then
          execute format('grant usage on schema %I to ${sql.raw(EDGE_ROLE)}', current_schema());
        end if;
      end $$`,
    )
    return { kind: 'ready' }
  })
}

/** Whether there is the group (`absent`), and it reads the feed of this database (`ungranted`), which may have no tables yet (`unmade`): the group is the cluster's. */
export async function findEdgeRole(db: Db): Promise<'stands' | 'absent' | 'ungranted' | 'unmade'> {
  const [found] = await rows(
    db,
    sql<{ made: boolean; granted: boolean | null }>`
      select feed is not null as made, (select has_column_privilege(oid, feed, 'key', 'select') from pg_roles where rolname = ${EDGE_ROLE}) as granted
      from to_regclass('changes') feed`,
  )
  if (!found?.made) return 'unmade'
  if (found.granted === null) return 'absent'
  return found.granted ? 'stands' : 'ungranted'
}

/** What a machine that migrates nothing waits for: `behind`, the schema of its release; `forbidden`, the right to read it. */
export type SchemaState = { kind: 'stands' } | { kind: 'behind' | 'forbidden'; sentence: string }

const UNDEFINED_TABLE = '42P01'
const INSUFFICIENT_PRIVILEGE = '42501'

/** Whether the database has every one of the migrations, as an edge machine sees it. Throws `database_unavailable`. */
export async function readSchemaState(db: Db, migrations: readonly Migration[]): Promise<SchemaState> {
  try {
    const applied = await rows(db, sql<{ name: string }>`select name from migrations`)
    const done = new Set(applied.map(({ name }) => name))
    const missing = migrations.find(({ name }) => !done.has(name))
    if (missing) return { kind: 'behind', sentence: `${missing.name} has not been applied` }
    await rows(db, sql`select from changes limit 1`)
    return { kind: 'stands' }
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === UNDEFINED_TABLE) return { kind: 'behind', sentence: 'it is empty' }
    if (code !== INSUFFICIENT_PRIVILEGE) throw error
    return { kind: 'forbidden', sentence: `this login may not read it: as an administrator, grant ${EDGE_ROLE} to it` }
  }
}
