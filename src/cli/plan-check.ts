import type { Config } from '../config.ts'
import { closeDatabase, connectDatabase } from '../core/db.ts'
import { findUnofferedPlans } from '../core/plans.ts'
import { ownCommand } from '../own-command.ts'
import { locate } from './installation.ts'
import { type Check, rolesHere, unseenIn } from './installation-checks.ts'

const name = 'plans'

/** Which projects are on a plan that NAMESAKE_PLANS does not name any more; nothing where there are none, nor on a machine without api, which needs no plans. */
export async function checkPlans(config: Config): Promise<Check[]> {
  if (!rolesHere(config).includes('api')) return []
  let url: string
  try {
    url = locate(config).databaseUrl!
  } catch {
    return [] // the check of the database says so
  }
  const db = connectDatabase(url, { applicationName: 'namesake doctor', poolMax: 1 })
  try {
    const found = await findUnofferedPlans(db, config.plans)
    return found.map(({ plan, projects, slugs }) => {
      const more = projects > slugs.length ? ` and ${projects - slugs.length} more` : ''
      const sentence = `NAMESAKE_PLANS names no plan ${plan}, so ${slugs.join(', ')}${more} can register no further domain: name it there, or ${ownCommand()} projects update --slug ${slugs[0]} --plan ${[...config.plans.keys()].at(-1)}`
      return { name, state: 'doubtful', sentence }
    })
  } catch (error) {
    return await unseenIn(db, name, error)
  } finally {
    await closeDatabase(db)
  }
}
