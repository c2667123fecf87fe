/** Plan name → how many domains a project on it may hold; 0 = no limit. */
export type Plans = ReadonlyMap<string, number>

/** How many domains fit. A plan that is no longer offered has room for no further one, and takes nothing away. */
export function domainsAllowed(plans: Plans, plan: string): number {
  const limit = plans.get(plan)
  if (limit === undefined) return 0
  return limit === 0 ? Number.POSITIVE_INFINITY : limit
}
