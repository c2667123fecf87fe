import type { Config } from '../config.ts'
import { ownCommand } from '../own-command.ts'
import { readSecretStatus } from '../roles/resealing.ts'
import { type Check, lookInDatabase } from './installation-checks.ts'

const name = 'secret'

/** Whether everything that is sealed in the database can be opened, and all by the first secret. Nothing where there is no database. */
export async function checkSecret(config: Config): Promise<Check[]> {
  return lookInDatabase(config, name, async (db, installation) => {
    const { sealed, former, unknown } = await readSecretStatus(db, installation)
    const total = sealed.reduce((sum, { values }) => sum + values, 0)
    if (unknown > 0) {
      const lost = `${unknown} of ${total} sealed values were made with a secret that is not given, and cannot be read.`
      return [
        { name, state: 'bad', sentence: `${lost} Append it: NAMESAKE_SECRET=new,former. Which they are: ${ownCommand()} secret status` },
      ]
    }
    if (former > 0) {
      const left = `${former} of ${total} sealed values need a former secret.`
      return [{ name, state: 'doubtful', sentence: `${left} To drop it, seal them anew first: ${ownCommand()} secret reseal` }]
    }
    return [{ name, state: 'good', sentence: `all ${total} sealed values are sealed by the first secret` }]
  })
}
