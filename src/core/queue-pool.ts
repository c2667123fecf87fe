import type pg from 'pg'
import { saysDatabaseIsAway } from '../errors.ts'
import { reachable } from './db.ts'

// A deadlock's, of the SQLSTATEs after which the queue tries again: a hundred times, within seconds at first and every five from then on.
const TRY_AGAIN = '40P01'
const WRITES_AN_END = /^(complete_jobs?|fail_job)(_q)?\// // the names of the statements

type Query = (query: pg.QueryConfig, ...values: unknown[]) => Promise<unknown>

/**
 * The pool as the job queue (graphile-worker) is to see it: where the end of a job is to be written down, a database that is away is something to try
 * again. The queue waits for none of these writes, so that one which fails for good ends the process, and with it all other jobs that it has
 * in hand; and of an outage it takes only a few of the many shapes for one that passes.
 */
export function queuePool(pool: pg.Pool): pg.Pool {
  const connect = async (): Promise<object> => {
    try {
      const client = await reachable(() => pool.connect())
      return withMethod(client, 'query', asking(pool, client.query.bind(client) as Query))
    } catch (error) {
      if (!saysDatabaseIsAway(error) && !pool.ending) throw error
      // The statement that was to come is what can tell.
      return { query: asking(pool, () => Promise.reject(error)), release: () => {} }
    }
  }
  return withMethod(pool, 'connect', (callback?: Parameters<pg.Pool['connect']>[0]) => (callback ? pool.connect(callback) : connect()))
}

function asking(pool: pg.Pool, ask: Query): Query {
  return async (query, ...values) => {
    try {
      return await reachable(() => ask(query, ...values))
    } catch (error) {
      if (!WRITES_AN_END.test(query.name ?? '')) throw error
      if (pool.ending) return undefined // nobody reads it: the process ends, and whoever takes over does the job again
      if (!saysDatabaseIsAway(error)) throw error
      throw Object.assign(new Error(error.message, { cause: error }), { code: TRY_AGAIN })
    }
  }
}

/** The object with one method in place of its own; whatever else is asked of it, it does itself. */
function withMethod<T extends object>(object: T, name: keyof T, method: unknown): T {
  return new Proxy(object, {
    get(target, key) {
      if (key === name) return method
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
