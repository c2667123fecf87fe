import { Command } from 'commander'
import { migrate, readMigrations } from '../core/migrations.ts'
import { withInstallation } from './installation.ts'
import { show } from './output.ts'

const SQL_FOLDER = new URL('../../sql/', import.meta.url)

/** `namesake migrate` */
export function migrateCommand(): Command {
  return new Command('migrate')
    .description('Bring the database up to date (every start does so by itself)')
    .option('--json', 'print JSON')
    .action(run)
}

async function run({ json }: { json?: boolean }): Promise<void> {
  const { applied } = await withInstallation(async ({ db }) => migrate(db, await readMigrations(SQL_FOLDER)))
  show({ json }, { applied }, () => (applied.length === 0 ? ['The database is up to date.'] : applied.map((name) => `Applied ${name}`)))
}
