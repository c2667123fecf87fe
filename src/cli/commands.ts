import type { Command } from 'commander'
import { budgetCommand } from './budget.ts'
import { caCommand } from './ca.ts'
import { certificatesCommand } from './certificates.ts'
import { doctorCommand } from './doctor.ts'
import { domainsCommand } from './domains.ts'
import { edgesCommand } from './edges.ts'
import { membersCommand } from './members.ts'
import { migrateCommand } from './migrate.ts'
import { projectsCommand } from './projects.ts'
import { startCommand } from './start.ts'
import { tokensCommand } from './tokens.ts'

/** Every command, in the order of the help. */
export function allCommands(): Command[] {
  return [
    startCommand(),
    projectsCommand(),
    tokensCommand(),
    membersCommand(),
    domainsCommand(),
    certificatesCommand(),
    budgetCommand(),
    edgesCommand(),
    migrateCommand(),
    caCommand(),
    doctorCommand(),
  ]
}
