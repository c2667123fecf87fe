import type { Config } from '../config.ts'
import { findUnofferedPlans } from '../core/plans.ts'
import { ownCommand } from '../own-command.ts'
import { type Check, lookInDatabase, rolesHere } from './installation-checks.ts'

const name = 'plans'

/** Which projects are on a plan that NAMESAKE_PLANS does not name any more; nothing where there are none, nor on a machine without api, which needs no plans. */
export async function checkPlans(config: Config): Promise<Check[]> {
  if (!rolesHere(config).includes('api')) return []
  return lookInDatabase(config, name, async (db) => {
    const found = await findUnofferedPlans(db, config.plans)
    return found.map(({ plan, projects, slugs }) => {
      const more = projects > slugs.length ? ` and ${projects - slugs.length} more` : ''
      const sentence = `NAMESAKE_PLANS names no plan ${plan}, so ${slugs.join(', ')}${more} can register no further domain: name it there, or ${ownCommand()} projects update --slug ${slugs[0]} --plan ${[...config.plans.keys()].at(-1)}`
      return { name, state: 'doubtful', sentence }
    })
  })
}
