import { type RawBuilder, sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import type { Brand } from './brand.ts'
import { type Db, rows } from './db.ts'
import { eachPage } from './pages.ts'
import type { UpstreamProtocol } from './upstream-url.ts'

/**
 * Where the hostnames of a project lead and how its pages look, as the machines' local copies keep it. Of two readings the one with the
 * higher version is the newer.
 */
export type ProjectRow = {
  id: string
  slug: string
  upstreamUrl: string
  upstreamProtocol: UpstreamProtocol
  name: string
  color: string | null
  errorPage: string | null
  version: number
}

const ERROR_PAGE_BYTES_MAX = 32_768

/** The HTML that visitors see while a project's application does not answer; null: the edge's own. Throws `error_page_invalid`. */
export function parseErrorPage(html: string | null): string | null {
  if (html === null || html.trim() === '') return null
  if (Buffer.byteLength(html) > ERROR_PAGE_BYTES_MAX)
    throw new ServiceError(
      'error_page_invalid',
      `an error page has at most 32 KB, this one has ${Buffer.byteLength(html)} bytes: shorten it`,
    )
  if (html.includes('\0') || !html.isWellFormed())
    throw new ServiceError('error_page_invalid', 'the error page holds a character that no page may hold: save it as UTF-8')
  return html
}

/** Those of the projects that are not given up. */
export async function loadProjects(db: Db, ids: readonly string[]): Promise<ProjectRow[]> {
  return readProjects(db, sql`id = any(${ids}::bigint[])`)
}

/** Every project, in pages by id; each page is read on its own, so changes from the start on must be followed as well. */
export function eachProjectPage(db: Db, size: number): AsyncIterable<ProjectRow[]> {
  return eachPage({ key: 'id', start: '0', size }, (after) => readProjects(db, sql`id > ${after} order by id limit ${size}`))
}

/** What a project's error page is made of. */
export type ErrorPageBrand = { name: string; color: string | null; ownHtml: string | null }

export async function readErrorPageBrand(db: Db, { id, name }: { id: string; name: string }): Promise<ErrorPageBrand> {
  const [row] = await loadProjects(db, [id])
  return { name: row?.name ?? name, color: row?.color ?? null, ownHtml: row?.errorPage ?? null }
}

/** How a project's pages look, to its customers and, by HTML of its own, to visitors while its application does not answer. */
export type ProjectLook = { brand: Brand; errorPage: string | null }

/** By id, of those of the projects that are not given up. */
export async function loadProjectLooks(db: Db, ids: readonly string[]): Promise<Map<string, ProjectLook>> {
  const found = await rows(
    db,
    sql<Brand & { id: string; errorPage: string | null }>`
      select id::text, brand_color as color, brand_logo_url as "logoUrl", error_page as "errorPage"
      from projects where deleted_at is null and id = any(${ids}::bigint[])`,
  )
  return new Map(found.map(({ id, color, logoUrl, errorPage }) => [id, { brand: { color, logoUrl }, errorPage }]))
}

function readProjects(db: Db, which: RawBuilder<unknown>): Promise<ProjectRow[]> {
  return rows(
    db,
    sql<ProjectRow>`select id::text, slug, upstream_url as "upstreamUrl", upstream_protocol as "upstreamProtocol", name, brand_color as color,
        error_page as "errorPage", version::float8 as version
      from projects where deleted_at is null and ${which}`,
  )
}
