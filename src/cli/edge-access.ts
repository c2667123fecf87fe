import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { prepareEdgeRole } from '../core/edge-role.ts'
import { edgeSecrets } from '../roles/certificate-keys.ts'
import { ensureOwnKeys } from '../roles/own-keys.ts'
import { withInstallation } from './installation.ts'
import { show } from './output.ts'

/** `namesake edge-access` */
export function edgeAccessCommand(): Command {
  return new Command('edge-access')
    .description('Print what an edge machine is to be given: a login of its own for the database, and its part of the secret')
    .option('--json', 'print JSON')
    .action(run)
}

async function run({ json }: { json?: boolean }): Promise<void> {
  if (!readConfig(process.env, process.cwd()).config.databaseUrl)
    throw new Error(
      'this installation has the embedded database, which no other machine reaches: edge machines need a PostgreSQL server, in NAMESAKE_DATABASE_URL of all',
    )
  const { role, secret } = await withInstallation(async ({ db, config }) => {
    await ensureOwnKeys(db, config) // with a part of a wrong secret, an edge machine could open no certificate's key
    return { role: await prepareEdgeRole(db), secret: edgeSecrets(config) }
  })
  const statements = [
    ...(role.kind === 'forbidden' ? [role.statement] : []),
    `create role namesake_edges login password '…' in role namesake_edge;`,
  ]
  show({ json }, { role: role.kind, statements, secret }, () => [
    'As an administrator of the database, once:',
    ...statements.map((statement) => `  ${statement}`),
    ...(role.kind === 'forbidden' ? ['After the first of these, run this command again: it grants the group its rights.'] : []),
    'On the edge machines, which are started with --roles edge:',
    '  NAMESAKE_DATABASE_URL=postgres://namesake_edges:…@…',
    `  NAMESAKE_SECRET=${secret}`,
  ])
}
