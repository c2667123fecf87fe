import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import { closeDatabase, connectDatabase, type Db } from '../core/db.ts'
import { registerDomain } from '../core/domains.ts'
import { prepareEdgeRole, readSchemaState } from '../core/edge-role.ts'
import { type Migration, migrate, readMigrations } from '../core/migrations.ts'
import { createProject, updateProject } from '../core/projects.ts'
import { readEdgeSetting } from '../core/settings.ts'
import { foldStoredAddresses } from '../core/stored-addresses.ts'
import { findTokenOwner, issueToken } from '../core/tokens.ts'
import { ServiceError } from '../errors.ts'
import { parseHostname } from '../hostname.ts'
import { pause } from '../lib/back-off.ts'
import { isPartOfSecret } from '../lib/seal.ts'
import { ownFile } from '../own-files.ts'
import { claimRules } from './claim-rules.ts'
import { ensureOwnKeys, SECRET_DOES_NOT_FIT } from './own-keys.ts'
import type { RoleContext } from './role.ts'
import { openTicketKeys, TICKET_KEYS } from './ticket-keys.ts'

const PART_IS_NOT_ENOUGH =
  'NAMESAKE_SECRET is that of an edge machine: api and worker need the whole one. Example: NAMESAKE_SECRET=$(openssl rand -hex 32)'
const SCHEMA_POLL_MS = 1_000
const DEMO_HOSTNAME = parseHostname('hello.localhost')

/** Reads the migrations, and returns what runs once before the roles: schema, the installation's keys, with --demo the demo project. */
export async function loadSetup(): Promise<(context: RoleContext) => Promise<undefined>> {
  const migrations = await readMigrations(ownFile('sql/'))
  return (context) => setUp(context, migrations)
}

async function setUp({ config, log, roles, demoUpstream }: RoleContext, migrations: readonly Migration[]): Promise<undefined> {
  const db = connectDatabase(config.databaseUrl!, { applicationName: 'namesake setup', poolMax: 2, log })
  try {
    if (!roles.some((role) => role === 'api' || role === 'worker')) return await awaitSchema(db, migrations, { config, log })
    if (config.secrets.some(isPartOfSecret)) throw new ConfigError([PART_IS_NOT_ENOUGH])
    await migrate(db, migrations, { say: (sentence) => log.warn(sentence) })
    await foldStoredAddresses(db)
    const edgeRole = await prepareEdgeRole(db)
    if (edgeRole.kind === 'forbidden')
      log.info(
        `edge machines that are to have rights of their own need a role that this login may not create: as an administrator, ${edgeRole.statement}`,
      )
    const keys = await ensureOwnKeys(db, config)
    if (config.acmeDirectories.includes('local')) writeFileSync(join(config.dataDir, 'ca.pem'), keys.localCa.certPem, { mode: 0o644 })
    if (demoUpstream) await seedDemo(db, config, demoUpstream)
  } finally {
    await closeDatabase(db)
  }
}

/** An edge machine changes no schema, and its login could not: a machine with the api or a worker does. Resolves when that is done. */
async function awaitSchema(
  db: Db,
  migrations: readonly Migration[],
  { config, log }: Pick<RoleContext, 'config' | 'log'>,
): Promise<undefined> {
  for (let said = ''; ; await pause(SCHEMA_POLL_MS)) {
    const state = await readSchemaState(db, migrations)
    if (state.kind === 'stands') return await checkEdgeSecret(db, config)
    if (said !== state.sentence)
      log.warn(
        `the database is not ready for edge machines (${state.sentence}): waiting for a machine with api or worker of this release, or namesake migrate`,
      )
    said = state.sentence
  }
}

/** Ticket keys are what an edge machine may read and must be able to open: without them nothing can be said yet. */
async function checkEdgeSecret(db: Db, config: Config): Promise<undefined> {
  const sealed = await readEdgeSetting(db, TICKET_KEYS)
  try {
    if (sealed) openTicketKeys(config, sealed)
  } catch {
    throw new ConfigError([SECRET_DOES_NOT_FIT])
  }
}

/** The demo project, its token (kept in the data directory, readable by its owner alone) and its claimed hostname. Finds what is there. */
async function seedDemo(db: Db, config: Config, upstreamUrl: string): Promise<void> {
  const rules = { plans: config.plans, checkUpstream: async () => {}, checkCnameTarget: async () => {} }
  const project = await updateProject(db, 'demo', { upstreamUrl }, rules).catch((error: unknown) => {
    if (!(error instanceof ServiceError) || error.code !== 'project_not_found') throw error
    return createProject(db, { name: 'Demo', slug: 'demo', upstreamUrl }, rules)
  })
  const tokenFile = join(config.dataDir, 'demo-token')
  const kept = existsSync(tokenFile) ? readFileSync(tokenFile, 'utf8').trim() : ''
  if (!(await findTokenOwner(db, kept))) {
    const { token } = await issueToken(db, 'demo', { name: 'demo' })
    writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 })
    chmodSync(tokenFile, 0o600)
  }
  const metadataJson = '{"greeting":"Hello from the demo project"}'
  await registerDomain(db, project, { hostname: DEMO_HOSTNAME, metadataJson }, claimRules(config))
}
