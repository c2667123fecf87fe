import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { closeDatabase, connectDatabase, type Db } from '../core/db.ts'
import { registerDomain } from '../core/domains.ts'
import { type Migration, migrate, readMigrations } from '../core/migrations.ts'
import { createProject, updateProject } from '../core/projects.ts'
import { findTokenOwner, issueToken } from '../core/tokens.ts'
import { ServiceError } from '../errors.ts'
import { parseHostname } from '../hostname.ts'
import { claimRules } from './claim-rules.ts'
import { ensureOwnKeys } from './own-keys.ts'
import type { RoleContext } from './role.ts'

const DEMO_HOSTNAME = parseHostname('hello.localhost')

/** Reads the migrations, and returns what runs once before the roles: schema, the installation's keys, with --demo the demo project. */
export async function loadSetup(): Promise<(context: RoleContext) => Promise<undefined>> {
  const migrations = await readMigrations(new URL('../../sql/', import.meta.url))
  return (context) => setUp(context, migrations)
}

async function setUp({ config, log, demoUpstream }: RoleContext, migrations: readonly Migration[]): Promise<undefined> {
  const db = connectDatabase(config.databaseUrl!, { applicationName: 'namesake setup', poolMax: 2, log })
  try {
    await migrate(db, migrations)
    const keys = await ensureOwnKeys(db, config)
    if (config.acmeDirectories.includes('local')) writeFileSync(join(config.dataDir, 'ca.pem'), keys.localCa.certPem, { mode: 0o644 })
    if (demoUpstream) await seedDemo(db, config, demoUpstream)
  } finally {
    await closeDatabase(db)
  }
}

/** The demo project, its token (kept in the data directory, readable by its owner alone) and its claimed hostname. Finds what is there. */
async function seedDemo(db: Db, config: Config, upstreamUrl: string): Promise<void> {
  const rules = { plans: config.plans, checkUpstream: async () => {} }
  const project = await updateProject(db, 'demo', { upstreamUrl }, rules).catch((error: unknown) => {
    if (!(error instanceof ServiceError) || error.code !== 'project_not_found') throw error
    return createProject(db, { name: 'Demo', slug: 'demo', upstreamUrl, plan: 'unlimited' }, rules)
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
