import { sql } from 'kysely'
import { type Db, rows } from './db.ts'

/** Plan name → how many domains a project on it may hold; 0 = no limit. */
export type Plans = ReadonlyMap<string, number>

const PROJECTS_NAMED = 5

/** How many domains fit. A plan that is no longer offered has room for no further one, and takes nothing away. */
export function domainsAllowed(plans: Plans, plan: string): number {
  const limit = plans.get(plan)
  if (limit === undefined) return 0
  return limit === 0 ? Number.POSITIVE_INFINITY : limit
}

/** The plan of a project that its operator makes and names none for: `unlimited`, or the last one where there is none of that name. */
export function operatorsPlan(plans: Plans): string {
  return plans.has('unlimited') ? 'unlimited' : [...plans.keys()].at(-1)!
}

/** The plans that projects are on and that are no longer offered: how many those are, and the slugs of the first five. */
export function findUnofferedPlans(db: Db, plans: Plans): Promise<{ plan: string; projects: number; slugs: string[] }[]> {
  return rows(
    db,
    sql<{ plan: string; projects: number; slugs: string[] }>`
      select plan, count(*)::int as projects, (array_agg(slug order by slug))[1:${PROJECTS_NAMED}] as slugs
      from projects where deleted_at is null and plan <> all(${[...plans.keys()]}) group by plan order by plan`,
  )
}
