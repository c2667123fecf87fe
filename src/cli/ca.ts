import { Command } from 'commander'
import { readLocalRoot } from '../roles/own-keys.ts'
import { withInstallation } from './installation.ts'
import { show } from './output.ts'

/** `namesake ca` */
export function caCommand(): Command {
  return new Command('ca')
    .description("print the built-in authority's root certificate, for those who are to trust it: namesake ca > namesake-ca.pem")
    .option('--json', 'print JSON')
    .action(run)
}

async function run({ json }: { json?: boolean }): Promise<void> {
  const certPem = await withInstallation(({ db, config }) => readLocalRoot(db, config))
  if (!certPem) throw new Error('this installation has no authority of its own yet: the first start makes it')
  show({ json }, { certPem }, () => [certPem.trimEnd()])
}
