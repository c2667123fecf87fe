import { domainToASCII, domainToUnicode } from 'node:url'
import { type RawBuilder, sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import type { Hostname } from '../hostname.ts'
import { type Db, rows } from './db.ts'
import type { Project } from './projects.ts'

const SPELT_MAX = 10_000 // to spell them out holds up whatever else the process answers

/**
 * The condition that a row called `d`, of the project's domains, has this part in its hostname, taken literally. A part in letters that the DNS has not is
 * looked for in hostnames as their owners spell them; among more than 10,000 of those it finds whole labels alone. Throws `query_invalid`.
 */
export async function containing(db: Db, project: Project, search: string | undefined): Promise<RawBuilder<boolean>> {
  const part = search?.toLowerCase().normalize('NFKC').replaceAll('。', '.')
  if (!part) return sql`true`
  if (part.includes('\0')) throw new ServiceError('query_invalid', 'search is a part of a hostname')
  if (!OTHER_LETTERS.test(part)) return sql`strpos(d.hostname, ${part}) > 0`
  const spelt = await findSpelt(db, project, part)
  return spelt ? sql`d.hostname = any(${spelt})` : sql`strpos(d.hostname, ${asInDns(part)}) > 0`
}

const OTHER_LETTERS = /[^ -~]/

/** The hostnames that the part is in as their owners spell them; undefined where too many come into question. */
async function findSpelt(db: Db, project: Project, part: string): Promise<Hostname[] | undefined> {
  const found = await rows(
    db,
    sql<{ hostname: Hostname }>`
      select d.hostname from domains d
      where d.project_id = ${project.id} and d.deleted_at is null and strpos(d.hostname, 'xn--') > 0 and strpos(d.hostname, ${lettersKept(part)}) > 0
      limit ${SPELT_MAX + 1}`,
  )
  if (found.length > SPELT_MAX) return undefined
  return found.map(({ hostname }) => hostname).filter((hostname) => domainToUnicode(hostname).includes(part))
}

// Label by label: to domainToASCII a name that ends in a number is an address.
function asInDns(part: string): string {
  return part.replaceAll(/[^.]+/g, (label) => (OTHER_LETTERS.test(label) && domainToASCII(label)) || label)
}

/** Punycode has the letters of a label that are ASCII side by side (RFC 3492 §3.1): the longest run of them that the part leaves. */
function lettersKept(part: string): string {
  const runs = part.split('.').map((label) => label.replaceAll(/[^ -~]/g, ''))
  return runs.reduce((longest, run) => (run.length > longest.length ? run : longest))
}
