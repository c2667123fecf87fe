import { Command, Option } from 'commander'
import type { Db } from '../core/db.ts'
import { loadProjectLooks } from '../core/project-pages.ts'
import { createProject, listProjects, type Project, updateProject } from '../core/projects.ts'
import { UPSTREAM_PROTOCOLS } from '../core/upstream-url.ts'
import { ownCommand } from '../own-command.ts'
import { projectRules } from '../roles/project-rules.ts'
import { readText } from './files.ts'
import { withInstallation } from './installation.ts'
import { show, shownTime, table } from './output.ts'

type Options = {
  name?: string
  slug?: string
  upstream?: string
  upstreamProtocol?: string
  plan?: string
  errorPage?: string
  cnameTarget?: string
  owner?: string
  json?: boolean
}

/** `namesake projects create|update|list` */
export function projectsCommand(): Command {
  const projects = new Command('projects').description('Create, change and list projects: each has an upstream, tokens and domains')
  projects
    .command('create')
    .description('Make a project')
    .requiredOption('--name <name>', 'its name, for people')
    .option('--slug <slug>', 'its name in commands, fixed for ever (default: made from the name)')
    .requiredOption('--upstream <url>', 'where its application lives, for example https://app.vendor.com')
    .addOption(
      protocolOption('how to speak to it: http1 (default), h2 with an https URL, h2c with an http one; gRPC needs one of these two'),
    )
    .option('--plan <plan>', 'one of NAMESAKE_PLANS (default: unlimited, or the last where there is none of that name)')
    .option('--owner <email>', 'who owns it: a member from the first sign-in with this address')
    .option('--json', 'print JSON')
    .action(create)
  projects
    .command('update')
    .description('Change what is given, keep the rest; it holds on every machine within a second')
    .requiredOption('--slug <slug>', 'which project')
    .option('--upstream <url>', 'where its application lives now')
    .addOption(protocolOption('how to speak to it now'))
    .option('--name <name>', 'its new name')
    .option('--plan <plan>', 'its new plan, one of NAMESAKE_PLANS')
    .option('--error-page <file>', 'HTML that visitors see while its application does not answer; none: our own page')
    .option(
      '--cname-target <hostname>',
      'a name of the vendor’s own that customers are told in place of the edge host; its CNAME record must lead there first; none: the edge host',
    )
    .option('--json', 'print JSON')
    .action(update)
  projects.command('list').description('List every project').option('--json', 'print JSON').action(list)
  return projects
}

async function create({ name, slug, upstream, upstreamProtocol, plan, owner, json }: Options): Promise<void> {
  const project = await withInstallation(async ({ db, config }) => {
    const wanted = { name: name!, slug, upstreamUrl: upstream!, upstreamProtocol, plan, owner }
    return withLook(db, await createProject(db, wanted, projectRules(db, config)))
  })
  show({ json }, project, () => [`Made the project ${project.slug}. Next: ${ownCommand()} tokens issue --project ${project.slug}`])
}

async function update(options: Options, command: Command): Promise<void> {
  const { name, slug, upstream, upstreamProtocol, plan, errorPage: file, cnameTarget: target, json } = options
  if ([name, upstream, upstreamProtocol, plan, file, target].every((given) => given === undefined))
    command.error('error: give at least one of --upstream, --upstream-protocol, --name, --plan, --error-page, --cname-target')
  const errorPage = file === undefined ? undefined : file === 'none' ? null : readText(file)
  const changes = { name, upstreamUrl: upstream, upstreamProtocol, plan, errorPage, cnameTarget: target === 'none' ? null : target }
  const project = await withInstallation(async ({ db, config, announce }) => {
    const updated = await updateProject(db, slug!, changes, projectRules(db, config))
    announce(updated.id)
    return withLook(db, updated)
  })
  show({ json }, project, () => [
    `${project.slug}: "${project.name}", ${project.upstreamUrl} (${project.upstreamProtocol}), plan ${project.plan}${project.cnameTarget === null ? '' : `, CNAME target ${project.cnameTarget}`}`,
  ])
}

async function list({ json }: Options): Promise<void> {
  const shown = await withInstallation(async ({ db }) => {
    const projects = await listProjects(db)
    const looks = await loadProjectLooks(db, json ? projects.map(({ id }) => id) : [])
    return projects.map(({ createdAt, domains, ...project }) => ({ ...publicPart(project), ...looks.get(project.id), domains, createdAt }))
  })
  show({ json }, shown, () => {
    if (shown.length === 0)
      return [`There is no project yet. Make one: ${ownCommand()} projects create --name Shop --upstream https://app.vendor.com`]
    const rows = shown.map((project) => [
      project.slug,
      project.name,
      project.upstreamUrl,
      project.upstreamProtocol,
      project.plan,
      String(project.domains),
      shownTime(project.createdAt),
    ])
    return table(['SLUG', 'NAME', 'UPSTREAM', 'PROTOCOL', 'PLAN', 'DOMAINS', 'CREATED'], rows)
  })
}

async function withLook(db: Db, project: Project) {
  const looks = await loadProjectLooks(db, [project.id])
  return { ...publicPart(project), ...looks.get(project.id) }
}

function publicPart({ id, name, slug, upstreamUrl, upstreamProtocol, plan, cnameTarget }: Project) {
  return { id, name, slug, upstreamUrl, upstreamProtocol, plan, cnameTarget }
}

function protocolOption(description: string): Option {
  return new Option('--upstream-protocol <protocol>', description).choices(UPSTREAM_PROTOCOLS)
}
