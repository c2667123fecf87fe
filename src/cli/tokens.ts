import { Command } from 'commander'
import { issueToken, listTokens, revokeToken } from '../core/tokens.ts'
import { ServiceError } from '../errors.ts'
import { ownCommand } from '../own-command.ts'
import { withInstallation } from './installation.ts'
import { show, shownTime, table } from './output.ts'

type Options = { project: string; name?: string; json?: boolean }

/** `namesake tokens issue|list|revoke` */
export function tokensCommand(): Command {
  const tokens = new Command('tokens').description("Issue, list and revoke a project's tokens for the API")
  tokens
    .command('issue')
    .description('Make a token; it is printed this once')
    .requiredOption('--project <slug>', 'whose token')
    .option('--name <name>', 'what it is for')
    .option('--json', 'print JSON')
    .action(issue)
  tokens
    .command('list')
    .description("List a project's tokens, by name and hash")
    .requiredOption('--project <slug>', 'whose tokens')
    .option('--json', 'print JSON')
    .action(list)
  tokens
    .command('revoke')
    .description('End a token; every machine refuses it within a second')
    .requiredOption('--project <slug>', 'whose token')
    .argument('<id>', 'its id, as tokens list shows it')
    .option('--json', 'print JSON')
    .action(revoke)
  return tokens
}

async function issue({ project, name, json }: Options): Promise<void> {
  const issued = await withInstallation(({ db }) => issueToken(db, project, { name }))
  const revoking = `${ownCommand()} tokens revoke --project ${project} ${issued.id}`
  if (!json) process.stdout.once('error', () => console.error(`The token was issued, but could not be printed. To end it: ${revoking}`))
  show({ json }, issued, () => [issued.token])
  if (!json) console.error('Keep it now: it cannot be shown again.') // not with the token, which a script may read
}

async function list({ project, json }: Options): Promise<void> {
  const tokens = await withInstallation(({ db }) => listTokens(db, project))
  show({ json }, tokens, () => {
    if (tokens.length === 0) return [`${project} has no token yet. Make one: ${ownCommand()} tokens issue --project ${project}`]
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
    await revokeToken(db, project, id).catch((error: unknown) => {
      throw explained(error, project)
    })
    announce(id)
  })
  show({ json }, { id, revoked: true }, () => [`Token ${id} is revoked.`])
}

function explained(error: unknown, project: string): unknown {
  if (!(error instanceof ServiceError && error.code === 'token_not_found')) return error
  return new ServiceError(error.code, `${error.message}. Which there are: ${ownCommand()} tokens list --project ${project}`)
}
