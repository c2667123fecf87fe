import { CompiledQuery, Kysely, PostgresDialect, type RawBuilder, type Transaction } from 'kysely'
import pg from 'pg'
import { ServiceError } from '../errors.ts'
import type { SessionNeed } from '../lib/postgres-url.ts'
import type { Log } from '../log.ts'
import { HostedClient, type HostedConfig } from './database-client.ts'
import { createDatabaseHosts, type DatabaseHosts } from './database-hosts.ts'

/** PostgreSQL as the verbs see it. `openClient` is for what needs a connection of its own, LISTEN or advisory locks; the caller connects and ends it. */
export type Db = { readonly kysely: Kysely<unknown>; readonly pool: pg.Pool; openClient(): pg.Client }

/** A transaction under way. */
export type Tx = { readonly kysely: Transaction<unknown> }

/** What a statement can run on: committed at once, or with the transaction. */
export type Queryable = Db | Tx

const CONNECT_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 30_000
const LOCK_TIMEOUT_MS = 10_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000 // an open transaction holds the change feed back for everybody
const SILENCE_MAX_MS = 40_000 // longer than any statement may take: the network or the server is gone
const PROBE_TIMEOUT_MS = 2_000
const POOL_CONNECTIONS_MAX = 10
/** A connection in steady use would else stay with its server for ever, wherever the name of the database leads by now. */
export const CONNECTION_LIFETIME_S = 300

export type DatabaseOptions = {
  applicationName: string
  poolMax?: number
  log?: Log
  need?: SessionNeed
  /** 0 for no end. What is under way ends first. */
  lifetimeS?: number
  /** Those of another pool on the same address: what one of them learns of where the database is, both know. */
  hosts?: DatabaseHosts
}

/**
 * A pool on the database at `url` (`postgres://…`, with one host or several, or with a Unix socket's folder as `?host=`), see
 * database-hosts.ts; of several without `target_session_attrs`, one that meets `need` is taken (`read-write`). Connects at the first statement.
 * Every verb that cannot reach the database throws `database_unavailable`.
 */
export function connectDatabase(url: string, options: DatabaseOptions): Db {
  const { hosts = createDatabaseHosts(url, options) } = options
  const connection: HostedConfig = {
    hosts,
    silenceMaxMs: 0,
    connectionString: hosts.firstUrl,
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  }
  const ofPool: HostedConfig = { ...connection, silenceMaxMs: SILENCE_MAX_MS }
  const pool = new pg.Pool({
    ...ofPool,
    Client: HostedClient as never,
    max: options.poolMax ?? POOL_CONNECTIONS_MAX,
    maxLifetimeSeconds: options.lifetimeS ?? CONNECTION_LIFETIME_S,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
  })
  const lost = (error: Error) => options.log?.warn({ reason: error.message }, 'database connection lost')
  pool.on('error', lost)
  pool.on('connect', (client) => client.on('error', lost))
  const kysely = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  return { kysely, pool, openClient: () => new HostedClient(connection) }
}

/** Runs `fn` in one transaction (READ COMMITTED): committed when it resolves, rolled back when it throws. */
export async function transaction<T>(db: Db, fn: (tx: Tx) => Promise<T>): Promise<T> {
  return reachable(() => db.kysely.transaction().execute((kysely) => fn({ kysely })))
}

/** The rows that a statement answers with. */
export async function rows<R>(on: Queryable, statement: RawBuilder<R>): Promise<R[]> {
  return reachable(async () => (await statement.execute(on.kysely)).rows)
}

/** As `rows`, planned once a connection under the given name, which stands for this one text. */
export async function plannedRows<R extends pg.QueryResultRow>(db: Db, name: string, statement: RawBuilder<R>): Promise<R[]> {
  const { sql: text, parameters } = statement.compile(db.kysely)
  return preparedRows<R>(db, name, text, [...parameters])
}

/** As `rows`, for statements that run thousands of times a second: outside a transaction, planned once a connection under the given name. */
export async function preparedRows<R extends pg.QueryResultRow>(
  on: Queryable,
  name: string,
  text: string,
  values: unknown[],
): Promise<R[]> {
  return reachable(async () => {
    if (!('pool' in on)) return (await on.kysely.executeQuery<R>(CompiledQuery.raw(text, values))).rows
    const client = await on.pool.connect()
    let isSpent = false
    try {
      return (await client.query<R>({ name, text, values })).rows
    } catch (error) {
      isSpent = !isRefusal(error)
      throw error
    } finally {
      client.release(isSpent)
    }
  })
}

/**
 * A constraint of ours that refuses a statement (SQLSTATE class 23) says nothing against the connection, which `pool.query` would close. After
 * other errors it is closed: a plan from before a migration fails for as long as its connection lives.
 */
function isRefusal(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith('23')
}

/** Ends every connection, when the statements under way are done. */
export async function closeDatabase(db: Db): Promise<void> {
  await db.kysely.destroy()
  if (!db.pool.ended) await db.pool.end()
}

/** Whether the database answers within two seconds. Never throws. */
export async function databaseIsReachable(db: Db): Promise<boolean> {
  return (await databaseTrouble(db)) === undefined
}

/** Why the database does not answer; undefined when it does. */
export async function databaseTrouble(db: Db): Promise<string | undefined> {
  const deadline = AbortSignal.timeout(PROBE_TIMEOUT_MS)
  const late = new Promise<string>((resolve) => deadline.addEventListener('abort', () => resolve('no answer in time'), { once: true }))
  const answered = db.pool.query('select 1').then(
    () => undefined,
    (error: Error) => error.message,
  )
  return Promise.race([answered, late])
}

/** Turns the loss of the database, in whatever shape it comes, into `database_unavailable`. */
export async function reachable<T>(fn: () => Promise<T>): Promise<T> {
  try {
    return await fn()
  } catch (error) {
    if (error instanceof ServiceError || !meansUnavailable(error)) throw error
    throw new ServiceError('database_unavailable', 'the database cannot be reached right now; try again', { cause: error })
  }
}

// Connection exceptions, too many connections, shutting down or starting up, a standby, statement or lock time-out.
const UNAVAILABLE_SQLSTATE = /^(08...|53300|57P0[1-5]|25006|57014|55P03|25P03)$/
const UNAVAILABLE_ERRNO = /^(ECONNREFUSED|ECONNRESET|ENOENT|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|EACCES)$/
const UNAVAILABLE_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|timeout expired)/

function meansUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = (error as { code?: unknown }).code
  if (typeof code === 'string' && (UNAVAILABLE_SQLSTATE.test(code) || UNAVAILABLE_ERRNO.test(code))) return true
  if (error instanceof AggregateError) return error.errors.some(meansUnavailable)
  return UNAVAILABLE_MESSAGE.test(error.message)
}
