import type { Config } from '../config.ts'
import { createDatabaseHosts } from '../core/database-hosts.ts'
import { closeDatabase, connectDatabase, type Db } from '../core/db.ts'
import type { Log } from '../log.ts'
import { LOOKUPS_RUNNING_MAX } from '../replica/database-lookups.ts'

/**
 * The follower's connections: six to the database, with that for hints, and one more to a feed elsewhere. `visits` is for what visitors cause, however many
 * they are: it holds up neither the feed nor the heartbeat, which go through `db`.
 */
export type FollowerDatabases = { db: Db; visits: Db; feed: Db; close(): Promise<void> }

const CONNECTIONS_MAX = 2 // a statement that is given up keeps its own for a while

export function connectFollower(
  { databaseUrl, feedDatabaseUrl }: Pick<Config, 'databaseUrl' | 'feedDatabaseUrl'>,
  log: Log,
): FollowerDatabases {
  const hosts = createDatabaseHosts(databaseUrl!, { log })
  const db = connectDatabase(databaseUrl!, { applicationName: 'namesake follower', poolMax: CONNECTIONS_MAX, log, hosts })
  const visits = connectDatabase(databaseUrl!, { applicationName: 'namesake look-ups', poolMax: LOOKUPS_RUNNING_MAX, log, hosts })
  const feed = feedDatabaseUrl
    ? // One connection: another one could lead to another standby, which may be behind the place in the feed that this one has given. It has no end,
      // for a snapshot begins again with each new one, and may take longer than any end would give it.
      connectDatabase(feedDatabaseUrl, { applicationName: 'namesake feed', poolMax: 1, log, need: 'prefer-standby', lifetimeS: 0 })
    : db
  return {
    db,
    visits,
    feed,
    async close() {
      for (const each of new Set([feed, visits, db])) await closeDatabase(each)
    },
  }
}
