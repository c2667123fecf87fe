import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import { type Actor, recordActivity } from './activity.ts'
import { type Db, rows, type Tx, transaction } from './db.ts'
import { parseEmailAddress } from './email-address.ts'
import { addMailJob } from './mail-jobs.ts'
import { type Role, requireRole } from './member-roles.ts'
import { lockProject, type Project, projectGone } from './projects.ts'
import { ANY_STATE, requireSeen } from './seen-state.ts'

/** `joinedAt`: the first sign-in after the invitation. */
export type MemberRecord = { email: string; role: Role; invitedAt: string; joinedAt: string | null }

/** Somebody who changes who belongs to a project; `role: 'operator'` may do what an owner may. */
export type MemberChange = { project: Project; actor: Actor; role: Role | 'operator' }

type Row = { email: string; role: Role; invitedAt: Date; joinedAt: Date | null }

const MEMBERS_MAX = 1_000

/** Does the address belong to any project? */
export async function isMember(db: Db, email: string): Promise<boolean> {
  return (await rows(db, sql`select from members where email = ${email} limit 1`)).length > 0
}

/** Who belongs to the project, oldest first. */
export async function listMembers(db: Db, project: Project): Promise<MemberRecord[]> {
  const found = await rows(db, sql<Row>`select ${MEMBER} from members where project_id = ${project.id} order by created_at, email`)
  return found.map(toRecord)
}

/**
 * Makes the address a member and sends an invitation; the project shows at its next sign-in. Inviting a member again sends the mail again
 * and changes no role. Throws `role_insufficient` (only owners invite owners) or `email_invalid`.
 */
export async function inviteMember(db: Db, change: MemberChange, wanted: { email: string; role: Role }): Promise<MemberRecord> {
  const email = parseEmailAddress(wanted.email)
  const { project, actor } = change
  return transaction(db, async (tx) => {
    const members = await lockMembers(tx, project)
    requireRole(roleNow(members, change), wanted.role === 'owner' ? 'owner' : 'admin')
    const known = members.find((member) => member.email === email)
    const member = known ?? (await addMember(tx, project, { email, role: wanted.role }, members.length))
    if (!known) {
      const entry = { projectId: project.id, actor, action: 'member.invited' as const, subject: email, detail: { role: wanted.role } }
      await recordActivity(tx, entry)
    }
    const invitedBy = actor.kind === 'user' ? actor.email : null
    const { id: projectId, name: projectName } = project
    await addMailJob(tx, { kind: 'invitation', to: email, projectId, projectName, role: member.role, invitedBy })
    return toRecord(member)
  })
}

/**
 * `seen` is asked about the role, unless that is so already. Throws `member_not_found`, `role_insufficient` (only owners make or unmake owners),
 * `last_owner` or `changed_meanwhile`.
 */
export async function changeRole(db: Db, change: MemberChange, email: string, role: Role, seen = ANY_STATE): Promise<MemberRecord> {
  const { project, actor } = change
  return transaction(db, async (tx) => {
    const members = await lockMembers(tx, project)
    const member = requireMember(members, email)
    requireRole(roleNow(members, change), member.role === 'owner' || role === 'owner' ? 'owner' : 'admin')
    if (member.role === role) return toRecord(member)
    requireAnotherOwner(members, member, change)
    requireSeen(seen, member.role)
    await rows(tx, sql`update members set role = ${role} where project_id = ${project.id} and email = ${member.email}`)
    const detail = { from: member.role, to: role }
    await recordActivity(tx, { projectId: project.id, actor, action: 'member.role-changed', subject: member.email, detail })
    return toRecord({ ...member, role })
  })
}

/**
 * Ends a membership: every session of its user stops seeing the project with the commit. Anybody may leave; removing others takes an admin,
 * removing owners an owner. Throws `member_not_found`, `role_insufficient` or `last_owner`.
 */
export async function removeMember(db: Db, change: MemberChange, email: string): Promise<void> {
  const { project, actor } = change
  await transaction(db, async (tx) => {
    const members = await lockMembers(tx, project)
    const member = requireMember(members, email)
    const leaves = actor.kind === 'user' && actor.email === member.email
    if (!leaves) requireRole(roleNow(members, change), member.role === 'owner' ? 'owner' : 'admin')
    requireAnotherOwner(members, member, change)
    await rows(tx, sql`delete from members where project_id = ${project.id} and email = ${member.email}`)
    // Invited again, they see the project at their next sign-in, as anybody does.
    await rows(
      tx,
      sql`delete from session_projects s using sessions where sessions.id = s.session_id and sessions.email = ${member.email} and s.project_id = ${project.id}`,
    )
    await recordActivity(tx, {
      projectId: project.id,
      actor,
      action: 'member.removed',
      subject: member.email,
      detail: { role: member.role },
    })
  })
}

const MEMBER = sql<Row>`email, role, created_at as "invitedAt", joined_at as "joinedAt"`

/**
 * Changes of one project's members wait for each other here: two owners who remove each other cannot both succeed. Throws `project_not_found`
 * where it was deleted meanwhile.
 */
async function lockMembers(tx: Tx, project: Project): Promise<Row[]> {
  await lockProject(tx, project)
  return rows(tx, sql<Row>`select ${MEMBER} from members where project_id = ${project.id}`)
}

/** A user's role as it is now, which may be another one than when the request came. Throws `project_not_found` for who is no member any more. */
function roleNow(members: readonly Row[], { actor, project, role }: MemberChange): Role | 'operator' {
  if (actor.kind !== 'user') return role
  const member = members.find(({ email }) => email === actor.email)
  if (!member) throw projectGone(project.slug)
  return member.role
}

async function addMember(tx: Tx, project: Project, wanted: { email: string; role: Role }, count: number): Promise<Row> {
  if (count >= MEMBERS_MAX) throw new ServiceError('body_invalid', `a project has at most ${MEMBERS_MAX} members`)
  const [member] = await rows(
    tx,
    sql<Row>`insert into members (project_id, email, role) values (${project.id}, ${wanted.email}, ${wanted.role}) returning ${MEMBER}`,
  )
  return member!
}

function requireMember(members: readonly Row[], text: string): Row {
  const typed = text.trim().toLowerCase() // may be stored in a spelling that is not taken any more
  const email = members.some((member) => member.email === typed) ? typed : parseEmailAddress(text)
  const member = members.find((one) => one.email === email)
  if (!member) throw new ServiceError('member_not_found', `${email} is not a member of this project`)
  return member
}

/** An invited address may be mistyped, and then nobody is left who could invite another; an operator still can. */
function requireAnotherOwner(members: readonly Row[], { email, role }: Row, change: MemberChange): void {
  const others = members.filter((member) => member.role === 'owner' && member.email !== email)
  if (role !== 'owner' || others.some(({ joinedAt }) => joinedAt !== null || change.role === 'operator')) return
  const reason =
    others.length === 0
      ? `${email} is the only owner of the project: make somebody else an owner first`
      : `${email} is the only owner of the project who has signed in: wait until another owner does`
  throw new ServiceError('last_owner', reason)
}

function toRecord({ invitedAt, joinedAt, ...member }: Row): MemberRecord {
  return { ...member, invitedAt: invitedAt.toISOString(), joinedAt: joinedAt?.toISOString() ?? null }
}
