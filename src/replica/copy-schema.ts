import type { DatabaseSync } from 'node:sqlite'

// A file of another version is never converted: the next snapshot builds a new one beside it. Until that stands, which takes a database,
// the files of former versions are read as if they were of today, by way of what they lack: temporary tables and views of the connection,
// which stand before the file's own.
const SCHEMA_VERSION = 6
/** Each route held what is its project's, and its version grew with either. */
const WHOLE_ROUTES = 'create temp view whole_routes as select *, version as project_version from main.routes;'
const FORMER_LACKS = new Map([
  [5, ''], // certificates were without rowid, too
  [4, WHOLE_ROUTES],
  [
    3,
    `${WHOLE_ROUTES}
    create temp table projects (id integer, name text, color text, error_page text);
    create temp table names (hostname text, used_at_ms integer);
    create temp view totals as select (select count(*) from routes) as routes, (select count(*) from certificates) as certificates;
    create temp view state as select *, 1 as metadata, null as mark from main.state`,
  ],
])
const APPLICATION_ID = 0x4e414d45 // "NAME"

// Without rowid a table is one tree, its key inside the row: no index that, damaged, could lead a hostname to another one's row.
// Not so certificates: while it looks for a key, SQLite reads the whole of each row that it passes, which takes four times as long as an index
// where rows are longer than a page holds them (docs/decisions/0092). Another hostname's row would be of no use: its sealed key does not open.
const TABLES = `
  create table routes (
    hostname text primary key, project_id integer not null, verified integer not null, proof_needed integer not null,
    created_at_ms integer not null, version integer not null, metadata_json text not null
  ) strict, without rowid;
  create table projects (
    id integer primary key, version integer not null, slug text not null, upstream_url text not null, upstream_protocol text not null,
    name text not null, color text, error_page text
  ) strict;
  -- Not a join: of those columns that nobody asks for the project is not read either. A route without its project has no project_version.
  create view whole_routes as select *,
    (select version from projects where id = project_id) as project_version,
    (select slug from projects where id = project_id) as project_slug,
    (select upstream_url from projects where id = project_id) as upstream_url,
    (select upstream_protocol from projects where id = project_id) as upstream_protocol
  from routes;
  create table certificates (
    hostname text primary key, state text not null, chain_pem text, sealed_key blob, not_after_ms integer, reason text,
    next_attempt_at_ms integer, version integer not null
  ) strict;
  create index certificate_ends on certificates (not_after_ms) where not_after_ms is not null;
  create table settings (name text primary key, value blob not null) strict, without rowid;
  create table challenges (
    hostname text not null, key_authorization text not null, expires_at_ms real not null, primary key (hostname, key_authorization)
  ) strict, without rowid;
  create table state (
    one integer primary key check (one = 1), epoch text not null, xid text not null, seq text not null, mark text,
    complete integer not null, metadata integer not null, as_of_ms integer not null
  ) strict;
  create table totals (
    one integer primary key check (one = 1), routes integer not null, certificates integer not null, names integer not null
  ) strict;
  -- Of a bounded copy: the names of which it knows the route and the certificate, or that there are none.
  create table names (hostname text primary key, used_at_ms integer not null) strict, without rowid;
  create index name_used on names (used_at_ms);
`

// Made when the rows stand: a count of each row while they are built would cost as much as the row.
const ROW_TOTALS = ['routes', 'names'].map(
  (table) => `
  create trigger ${table}_come after insert on ${table} begin update totals set ${table} = ${table} + 1; end;
  create trigger ${table}_go after delete on ${table} begin update totals set ${table} = ${table} - 1; end;`,
)
const CERTIFICATE_TOTAL = `
  create trigger certificate_comes after insert on certificates when new.chain_pem is not null begin update totals set certificates = certificates + 1; end;
  create trigger certificate_goes after delete on certificates when old.chain_pem is not null begin update totals set certificates = certificates - 1; end;
  create trigger certificate_turns after update on certificates when (old.chain_pem is null) <> (new.chain_pem is null)
    begin update totals set certificates = certificates + (new.chain_pem is not null) - (old.chain_pem is not null); end;`
const TABLES_COUNTED = ['routes', 'certificates where chain_pem is not null', 'names']

/** What a copy is to hold: metadata for those who resolve, and every hostname where `hostnamesMax` is 0, else so many at most. */
export type CopyScope = { metadata: boolean; hostnamesMax: number }

export function createTables(db: DatabaseSync): void {
  db.exec(`${TABLES} pragma application_id = ${APPLICATION_ID}; pragma user_version = ${SCHEMA_VERSION};`)
}

/** To be called once, when the rows stand: from then on their number is known at any time. */
export function countRows(db: DatabaseSync): void {
  const counts = TABLES_COUNTED.map((rows) => `(select count(*) from ${rows})`)
  db.exec(`insert into totals select 1, ${counts.join(', ')}; ${ROW_TOTALS.join('')} ${CERTIFICATE_TOTAL}`)
}

/** Why this file cannot be followed by this release, or undefined when it can. Costs the same for any number of rows. */
export function unfitness(db: DatabaseSync, wanted: Partial<CopyScope> = {}): string | undefined {
  const { application_id: application } = db.prepare('pragma application_id').get() as { application_id: number }
  if (application !== APPLICATION_ID) return 'it is not a copy of ours'
  const version = versionOf(db)
  if (version !== SCHEMA_VERSION) return `it was written in version ${version}, this release writes version ${SCHEMA_VERSION}`
  return whyNot(db, wanted)
}

/** Why readers cannot use this file, or undefined when they can: what a former release wrote is read too, by a connection made for it here. */
export function unreadability(db: DatabaseSync, wanted: Partial<CopyScope> = {}): string | undefined {
  const lacks = FORMER_LACKS.get(versionOf(db))
  if (lacks === undefined) return unfitness(db, wanted)
  db.exec(lacks)
  return whyNot(db, wanted)
}

function versionOf(db: DatabaseSync): number {
  return (db.prepare('pragma user_version').get() as { user_version: number }).user_version
}

function whyNot(db: DatabaseSync, wanted: Partial<CopyScope>): string | undefined {
  const state = db.prepare('select complete, metadata from state').get() as { complete: number; metadata: number } | undefined
  if (!state) return 'it is not complete'
  if (wanted.metadata && state.metadata === 0) return 'it was written where nobody needed metadata'
  if (wanted.hostnamesMax === undefined || (wanted.hostnamesMax === 0) === (state.complete === 1)) return undefined
  return state.complete === 1 ? 'it holds every hostname and is to hold some' : 'it holds some hostnames and is to hold all'
}

/** Reads the first and the last leaf of the large tables, so that a file that was cut short or overwritten at an end is noticed. Throws as SQLite does. */
export function touchEnds(db: DatabaseSync): void {
  for (const order of ['asc', 'desc']) {
    db.prepare(`select * from routes order by hostname ${order} limit 1`).get()
    db.prepare(`select * from certificates order by hostname ${order} limit 1`).get()
  }
}
