import { Command, InvalidArgumentError } from 'commander'
import { OPERATOR } from '../core/activity.ts'
import { ROLES, type Role } from '../core/member-roles.ts'
import { changeRole, inviteMember, listMembers, type MemberChange, removeMember } from '../core/members.ts'
import { findProject } from '../core/projects.ts'
import { inBothForms } from '../hostname.ts'
import { ownCommand } from '../own-command.ts'
import { type Installation, withInstallation } from './installation.ts'
import { show, shownTime, table } from './output.ts'

type Options = { project: string; role?: Role; json?: boolean }

/** `namesake members add|list|remove|role` */
export function membersCommand(): Command {
  const members = new Command('members').description('Say who belongs to a project, and as what')
  const command = (name: string, description: string) =>
    members.command(name).description(description).requiredOption('--project <slug>', 'which project').option('--json', 'print JSON')
  command('add', 'Make an address a member and mail an invitation')
    .argument('<email>')
    .option('--role <role>', `one of ${ROLES.join(', ')}`, readRole, 'member')
    .action((email: string, options: Options, command: Command) =>
      add(email, options, { isRoleAsked: command.getOptionValueSource('role') === 'cli' }),
    )
  command('list', "List the project's members").action(list)
  command('remove', 'End a membership; the project is gone from its sessions at once').argument('<email>').action(remove)
  command('role', 'Give a member another role')
    .argument('<email>')
    .argument('<role>', `one of ${ROLES.join(', ')}`, readRole)
    .action(changeTo)
  return members
}

async function add(email: string, { project, role, json }: Options, { isRoleAsked }: { isRoleAsked: boolean }): Promise<void> {
  const wanted = { email, role: role! }
  const member = await change(project, ({ db, as }) => inviteMember(db, as, wanted))
  if (isRoleAsked && member.role !== wanted.role) {
    const way = `${ownCommand()} members role --project ${project} ${member.email} ${wanted.role}`
    throw new Error(`${member.email} belongs to ${project} already, as ${member.role}, which was not changed. To change it: ${way}`)
  }
  show({ json }, member, () => [`${inBothForms(member.email)} belongs to ${project} as ${member.role}, and sees it at the next sign-in.`])
}

async function list({ project, json }: Options): Promise<void> {
  const members = await withInstallation(async ({ db }) => listMembers(db, await findProject(db, project)))
  show({ json }, members, () => {
    if (members.length === 0)
      return [`${project} has no member yet. Add one: ${ownCommand()} members add --project ${project} ada@vendor.com`]
    const rows = members.map((member) => [inBothForms(member.email), member.role, shownTime(member.invitedAt), shownTime(member.joinedAt)])
    return table(['E-MAIL', 'ROLE', 'INVITED', 'JOINED'], rows)
  })
}

async function remove(email: string, { project, json }: Options): Promise<void> {
  await change(project, ({ db, as }) => removeMember(db, as, email))
  show({ json }, { email, removed: true }, () => [`${email} belongs to ${project} no more.`])
}

async function changeTo(email: string, role: Role, { project, json }: Options): Promise<void> {
  const member = await change(project, ({ db, as }) => changeRole(db, as, email, role))
  show({ json }, member, () => [`${inBothForms(member.email)} is now ${member.role} of ${project}.`])
}

function change<T>(slug: string, verb: (installation: Installation & { as: MemberChange }) => Promise<T>): Promise<T> {
  return withInstallation(async (installation) => {
    const project = await findProject(installation.db, slug)
    return verb({ ...installation, as: { project, actor: OPERATOR, role: 'operator' } })
  })
}

function readRole(text: string): Role {
  const role = ROLES.find((known) => known === text)
  if (!role) throw new InvalidArgumentError(`"${text}" is no role: it is one of ${ROLES.join(', ')}`)
  return role
}
