import { Command } from 'commander'
import { EDGE_ROLE, prepareEdgeRole } from '../core/edge-role.ts'
import { migrate, readMigrations } from '../core/migrations.ts'
import { foldStoredAddresses } from '../core/stored-addresses.ts'
import { ownCommand } from '../own-command.ts'
import { ownFile } from '../own-files.ts'
import { withInstallation } from './installation.ts'
import { show } from './output.ts'

const SQL_FOLDER = ownFile('sql/')

/** `namesake migrate` */
export function migrateCommand(): Command {
  return new Command('migrate')
    .description('Bring the database up to date (every start with the role api or worker does so by itself)')
    .option('--json', 'print JSON')
    .action(run)
}

async function run({ json }: { json?: boolean }): Promise<void> {
  const { applied, edgeRole } = await withInstallation(async ({ db }) => {
    const { applied } = await migrate(db, await readMigrations(SQL_FOLDER), { say: (sentence) => console.error(sentence) })
    await foldStoredAddresses(db)
    return { applied, edgeRole: await prepareEdgeRole(db) }
  })
  show({ json }, { applied, edgeRole }, () => [
    ...(applied.length === 0 ? ['The database is up to date.'] : applied.map((name) => `Applied ${name}`)),
    edgeRole.kind === 'ready'
      ? `Edge machines may have a login of their own: grant ${EDGE_ROLE} to it (${ownCommand()} edge-access)`
      : `For edge machines with a login of their own, run as an administrator: ${edgeRole.statement} Then run this command again.`,
  ])
}
