import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { RoleContext } from './role.ts'

/** Where the machine's local copy stands; see replica/copy-files.ts for what lies there. */
export const copyPath = ({ dataDir }: Pick<Config, 'dataDir'>) => join(dataDir, 'copy', 'routes.sqlite')
/** Where its processes meet the follower. */
export const followerSocket = (context: RoleContext) => join(context.runDir, 'follower.sock')
