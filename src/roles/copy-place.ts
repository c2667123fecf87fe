import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { RoleContext } from './role.ts'

export const copyPath = ({ dataDir }: Pick<Config, 'dataDir'>) => join(dataDir, 'copy', 'routes.sqlite')
export const followerSocket = (context: RoleContext) => join(context.runDir, 'follower.sock')
