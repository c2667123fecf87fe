import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { type Config, readConfig } from '../config.ts'
import { databaseHost } from '../config-values.ts'
import { createAnnouncer } from '../core/changes.ts'
import { closeDatabase, connectDatabase, type Db, databaseIsReachable } from '../core/db.ts'
import { locateData } from '../data-directory.ts'
import { embeddedUrl } from '../embedded-postgres.ts'
import { ServiceError } from '../errors.ts'
import { ownCommand } from '../own-command.ts'
import { readOwnSecret } from '../own-secret.ts'
import { locateRun } from '../run-directory.ts'
import { findServiceUser } from '../service-user.ts'

/** The database as a command works on it. `config` is complete: with the real data folder, the database's address and the secret. */
export type Installation = {
  db: Db
  config: Config
  /** Tells the machines at once that a change was committed; without it they would see it within a second. */
  announce(key: string): void
}

const INSUFFICIENT_PRIVILEGE = '42501'
const UNDEFINED_TABLE = '42P01'
const UNDEFINED_COLUMN = '42703'

/**
 * Runs a command over the installation's database, the configured one or the embedded one of the tree that runs here. Rejects with what to
 * do when that cannot be reached.
 */
export async function withInstallation<T>(command: (installation: Installation) => Promise<T>): Promise<T> {
  const config = locate(readConfig(process.env, process.cwd()).config)
  const db = connectDatabase(config.databaseUrl!, { applicationName: 'namesake command', poolMax: 2 })
  const announcer = createAnnouncer(db)
  try {
    if (!(await databaseIsReachable(db)))
      throw new Error(`the database at ${databaseHost(config.databaseUrl!)} cannot be reached. What is wrong: ${ownCommand()} doctor`)
    return await command({ db, config, announce: announcer.announce })
  } catch (error) {
    throw explained(error)
  } finally {
    await announcer.close()
    await closeDatabase(db)
  }
}

/** An error with what to do about it, where that is known; any other as it is. */
export function explained(error: unknown): unknown {
  if (error instanceof ServiceError && error.code === 'project_not_found')
    return new ServiceError(error.code, `${error.message}. Which there are: ${ownCommand()} projects list`)
  const { code, message } = error as { code?: unknown; message: string }
  if (code === INSUFFICIENT_PRIVILEGE) return new Error(mayNot(message), { cause: error })
  if (code === UNDEFINED_TABLE || code === UNDEFINED_COLUMN) return new Error(isBehind(message), { cause: error })
  return error
}

function isBehind(lack: string): string {
  return `the database is empty, or of an older release than this one (${lack}): bring it up to date with ${ownCommand()} migrate, or with a start`
}

function mayNot(refusal: string): string {
  return `${refusal}: the login in NAMESAKE_DATABASE_URL may not do this. That of an edge machine only serves visitors: run the command on a machine with api or worker`
}

/** The settings with what a start resolves filled in. Throws when the embedded database is not running. */
export function locate(config: Config): Config {
  if (config.databaseUrl) return config
  const dataDir = locateData(config.dataDir, findServiceUser())
  const runDir = locateRun(dataDir)
  try {
    accessSync(join(runDir, '.s.PGSQL.5432'), constants.W_OK)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EACCES') throw new Error(`${dataDir} belongs to another user: run this command as the user who did the start`)
    throw new Error(
      `nothing runs on ${dataDir}. Start it first (${ownCommand()} start), or run this in the folder it was started in, or set NAMESAKE_DATA_DIR`,
    )
  }
  return {
    ...config,
    dataDir,
    databaseUrl: embeddedUrl(runDir),
    secrets: config.secrets.length > 0 ? config.secrets : [readOwnSecret(dataDir)].filter((secret) => secret !== undefined),
  }
}
