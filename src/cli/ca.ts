import { Command } from 'commander'
import { ownCommand } from '../own-command.ts'
import { readLocalRoot } from '../roles/own-keys.ts'
import { withInstallation } from './installation.ts'
import { show } from './output.ts'

/** `namesake ca` */
export function caCommand(): Command {
  return new Command('ca')
    .summary("Print the built-in authority's root certificate")
    .description(`Print the built-in authority's root certificate, for whoever is to trust it: ${ownCommand()} ca > namesake-ca.pem`)
    .option('--json', 'print JSON')
    .action(run)
}

async function run({ json }: { json?: boolean }): Promise<void> {
  const certPem = await withInstallation(({ db, config }) => readLocalRoot(db, config))
  if (!certPem) throw new Error('there is no built-in authority yet: the first start with NAMESAKE_ACME_DIRECTORY=local makes it')
  show({ json }, { certPem }, () => [certPem.trimEnd()])
}
