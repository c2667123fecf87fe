import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import { type Db, rows } from './db.ts'
import { DOMAIN, type DomainRecord, type DomainRow, toDomainRecord } from './domain-record.ts'
import { containing } from './hostname-search.ts'
import type { Project } from './projects.ts'

/** What narrows a listing; `search` is a part of the hostname, as the DNS or as its owner spells it. */
export type DomainQuery = {
  limit?: number | undefined
  cursor?: string | undefined
  verified?: boolean | undefined
  search?: string | undefined
  /** Which come first; the oldest by default. */
  order?: 'oldest' | 'newest' | undefined
}

export type DomainPage = { domains: DomainRecord[]; nextCursor?: string }

export const PAGE_DOMAINS_MAX = 1_000

export async function readPage(db: Db, project: Project, query: DomainQuery): Promise<DomainPage> {
  const limit = parseLimit(query.limit)
  const [later, searched] = [after(query), await containing(db, project, query.search)]
  const found = await rows(
    db,
    sql<DomainRow>`
      select ${DOMAIN} from domains d
      where d.project_id = ${project.id} and d.deleted_at is null ${later} ${verified(query.verified)} and ${searched}
      order by ${query.order === 'newest' ? sql`d.created_at desc, d.hostname desc` : sql`d.created_at, d.hostname`} ${limit === undefined ? NOTHING : sql`limit ${limit + 1}`}`,
  )
  const page = found.slice(0, limit)
  const domains = page.map((row) => toDomainRecord(row, project))
  return found.length > page.length ? { domains, nextCursor: cursorAt(page.at(-1)!) } : { domains }
}

const NOTHING = sql``

function after({ cursor, order }: DomainQuery) {
  if (cursor === undefined) return NOTHING
  const { createdAt, hostname } = parseCursor(cursor)
  return sql`and (d.created_at, d.hostname) ${order === 'newest' ? sql`<` : sql`>`} (${createdAt}::timestamptz, ${hostname})`
}

function verified(wanted: boolean | undefined) {
  if (wanted === undefined) return NOTHING
  return wanted ? sql`and d.verified_at is not null` : sql`and d.verified_at is null`
}

function parseLimit(limit: number | undefined): number | undefined {
  if (limit === undefined || (Number.isInteger(limit) && limit >= 1 && limit <= PAGE_DOMAINS_MAX)) return limit
  throw invalid(`limit is a whole number from 1 to ${PAGE_DOMAINS_MAX}`)
}

function cursorAt(row: DomainRow): string {
  return Buffer.from(`${row.createdAt.toISOString()} ${row.hostname}`).toString('base64url')
}

const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ((?:\*\.)?[a-z0-9.-]{1,253})$/

function parseCursor(cursor: string): { createdAt: string; hostname: string } {
  const [, createdAt, hostname] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (!createdAt || !hostname || !isTime(createdAt)) throw invalid('cursor is the one that the last page came with')
  return { createdAt, hostname }
}

// Date.parse takes the 30th of February for a day in March, and the year 0, which PostgreSQL does not have.
function isTime(text: string): boolean {
  const ms = Date.parse(text)
  return !Number.isNaN(ms) && new Date(ms).toISOString() === text && !text.startsWith('0000')
}

function invalid(message: string): ServiceError {
  return new ServiceError('query_invalid', message)
}
