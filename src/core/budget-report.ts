import { sql } from 'kysely'
import { type Db, rows } from './db.ts'
import { counted } from './issuance-budget.ts'
import { type LimitScope, limitsOf, roomForNew } from './issuance-limits.ts'

/** How one directory's budget stands. `used` of the account's `max` orders, of which new certificates may use `forNew`; times in ISO 8601. */
export type DirectoryBudget = {
  directory: string
  /** Null where the directory has no limits: `local`, or a test's. */
  account: { used: number; max: number; forNew: number; windowS: number } | null
  /** The registered domains that used most, at most 20. */
  domains: { registeredDomain: string; used: number; max: number; forNew: number }[]
  blocks: { scope: LimitScope; key: string; until: string; detail: string }[]
}

/** How many hostnames wait for room, by the limit that holds them back. */
export type Waiting = { limit: LimitScope | 'share'; hostnames: number; nextAt: string }

const DOMAINS_SHOWN = 20

/** What has been used of each directory's limits, and what it has refused itself. */
export async function readBudgets(db: Db, directories: readonly string[]): Promise<DirectoryBudget[]> {
  return Promise.all(directories.map((directory) => readBudget(db, directory)))
}

/** Which limits hold hostnames back right now. */
export async function readWaiting(db: Db): Promise<Waiting[]> {
  const waiting = await rows(
    db,
    sql<{ limit: Waiting['limit']; hostnames: number; nextAt: Date }>`
      select postponed_by as "limit", count(*)::int as hostnames, min(postponed_until) as "nextAt" from certificates
      where postponed_until > now() group by postponed_by order by hostnames desc`,
  )
  return waiting.map(({ limit, hostnames, nextAt }) => ({ limit, hostnames, nextAt: nextAt.toISOString() }))
}

async function readBudget(db: Db, directory: string): Promise<DirectoryBudget> {
  const limits = limitsOf(directory)
  const account = limits.find(({ scope }) => scope === 'account')
  const domain = limits.find(({ scope }) => scope === 'domain')
  const [count] = account
    ? await rows(
        db,
        sql<{ used: number }>`select count(*)::int as used from issuance_orders o where ${counted(directory, account, sql`''`)}`,
      )
    : []
  const domains = domain
    ? await rows(
        db,
        sql<{ registeredDomain: string; used: number; max: number | null }>`
          select o.registered_domain as "registeredDomain", count(*)::int as used, min(e.certificates) as max
          from issuance_orders o left join issuance_exceptions e using (directory, registered_domain)
          where ${counted(directory, domain, sql`o.registered_domain`)}
          group by o.registered_domain order by used desc, o.registered_domain limit ${DOMAINS_SHOWN}`,
      )
    : []
  const blocks = await rows(
    db,
    sql<{ scope: LimitScope; key: string; until: Date; detail: string }>`
      select scope, key, until, detail from issuance_blocks where directory = ${directory} and until > now() order by until desc`,
  )
  return {
    directory,
    account: account ? { used: count!.used, max: account.max, forNew: roomForNew(account), windowS: account.windowS } : null,
    domains: domains.map(({ registeredDomain, used, max }) => {
      const limit = { ...domain!, max: max ?? domain!.max }
      return { registeredDomain, used, max: limit.max, forNew: roomForNew(limit) }
    }),
    blocks: blocks.map((block) => ({ ...block, until: block.until.toISOString() })),
  }
}
