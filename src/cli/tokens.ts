import { Command } from 'commander'
import { issueToken, listTokens, revokeToken } from '../core/tokens.ts'
import { withInstallation } from './installation.ts'
import { show, shownTime, table } from './output.ts'

type Options = { project: string; name?: string; json?: boolean }

/** `namesake tokens issue|list|revoke` */
export function tokensCommand(): Command {
  const tokens = new Command('tokens').description("a project's keys to the API")
  tokens
    .command('issue')
    .description('make a token; it is shown this once')
    .requiredOption('--project <slug>', 'whose token')
    .option('--name <name>', 'what it is for')
    .option('--json', 'print JSON')
    .action(issue)
  tokens
    .command('list')
    .description("a project's tokens, never the tokens themselves")
    .requiredOption('--project <slug>', 'whose tokens')
    .option('--json', 'print JSON')
    .action(list)
  tokens
    .command('revoke')
    .description('end a token; every machine refuses it within a second')
    .requiredOption('--project <slug>', 'whose token')
    .argument('<id>', 'its id, as listed')
    .option('--json', 'print JSON')
    .action(revoke)
  return tokens
}

async function issue({ project, name, json }: Options): Promise<void> {
  const issued = await withInstallation(({ db }) => issueToken(db, project, { name }))
  show({ json }, issued, () => [issued.token, '', 'Keep it now: it cannot be shown again.'])
}

async function list({ project, json }: Options): Promise<void> {
  const tokens = await withInstallation(({ db }) => listTokens(db, project))
  show({ json }, tokens, () => {
    if (tokens.length === 0) return [`${project} has no token yet. Make one: namesake tokens issue --project ${project}`]
    const rows = tokens.map((token) => [
      token.id,
      token.name || '-',
      token.preview,
      shownTime(token.createdAt),
      shownTime(token.lastUsedAt),
      token.revokedAt === null ? 'active' : `revoked ${shownTime(token.revokedAt)}`,
    ])
    return table(['ID', 'NAME', 'HASH', 'ISSUED', 'LAST USED', 'STATE'], rows)
  })
}

async function revoke(id: string, { project, json }: Options): Promise<void> {
  await withInstallation(async ({ db, announce }) => {
    await revokeToken(db, project, id)
    announce(id)
  })
  show({ json }, { id, revoked: true }, () => [`Token ${id} is revoked.`])
}
