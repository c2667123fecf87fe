import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../api.ts'
import { toast } from '../components/announcer.tsx'
import { Button } from '../components/button.tsx'
import { PageHead, Skeleton } from '../components/card.tsx'
import { Cell, DataTable } from '../components/data-table.tsx'
import { ConfirmDialog } from '../components/dialog.tsx'
import { BareSelect } from '../components/field.tsx'
import { InviteMember } from '../components/invite-member.tsx'
import { LoadProblem } from '../components/notice.tsx'
import { Ago } from '../components/time.tsx'
import { useDraft } from '../edits.ts'
import { usePageTitle } from '../page-title.ts'
import { queries } from '../queries.ts'
import type { Member, Role } from '../records.ts'
import { useSlug } from '../route-params.ts'
import { text } from '../strings.ts'
import { inBothForms } from '../unicode-name.ts'

const NOBODY = { email: '', role: 'member' as Role }
const words = text.members

export function MembersPage() {
  const slug = useSlug()
  const members = useQuery(queries.members(slug))
  const project = useQuery(queries.project(slug))
  const me = useQuery(queries.me())
  const invitation = useDraft(`invitation to ${slug}`, NOBODY)
  const [isInviting, setInviting] = useState(invitation.isRestored)
  const [leaving, setLeaving] = useState<Member>()
  usePageTitle(words.title)
  const role = project.data?.role ?? 'member'
  return (
    <>
      <PageHead title={words.title} lead={words.lead}>
        {role !== 'member' && (
          <Button look="primary" onClick={() => setInviting(true)}>
            {words.invite}
          </Button>
        )}
      </PageHead>
      {members.isPending && <Skeleton rows={3} />}
      {members.error && !members.data && <LoadProblem error={members.error} onRetry={() => void members.refetch()} />}
      {members.data && (
        <DataTable label={words.title} columns={[text.signIn.email, words.role, text.domain.added, text.tokens.columns.action]}>
          {members.data.map((member) => (
            <MemberRow
              key={member.email}
              slug={slug}
              member={member}
              ownRole={role}
              isSelf={member.email === me.data?.email}
              onRemove={() => setLeaving(member)}
            />
          ))}
        </DataTable>
      )}
      {isInviting && <InviteMember slug={slug} ownRole={role} draft={invitation} onClose={() => setInviting(false)} />}
      {leaving && (
        <RemoveMember slug={slug} member={leaving} isSelf={leaving.email === me.data?.email} onClose={() => setLeaving(undefined)} />
      )}
    </>
  )
}

type RowProps = { slug: string; member: Member; ownRole: Role; isSelf: boolean; onRemove(): void }

function MemberRow({ slug, member, ownRole, isSelf, onRemove }: RowProps) {
  const mayChange = ownRole === 'owner' || (ownRole === 'admin' && member.role !== 'owner')
  return (
    <tr>
      <Cell label={text.signIn.email} isHead>
        <span className="break-all">{inBothForms(member.email)}</span>{' '}
        {isSelf && <span className="font-normal text-stone-600 dark:text-stone-400">({words.you})</span>}
      </Cell>
      <Cell label={words.role}>{mayChange ? <RoleChoice {...{ slug, member, ownRole, isSelf }} /> : text.projects.roles[member.role]}</Cell>
      <Cell label={text.domain.added} isShort>
        {member.joinedAt ? (
          <>
            {words.joined('')}
            <Ago at={member.joinedAt} />
          </>
        ) : (
          member.invitedAt && (
            <>
              {words.invited('')}
              <Ago at={member.invitedAt} />
            </>
          )
        )}
      </Cell>
      <Cell label={text.tokens.columns.action} isAction>
        {(isSelf || mayChange) && (
          <Button size="small" aria-label={isSelf ? words.leave : words.removeOf(inBothForms(member.email))} onClick={onRemove}>
            {isSelf ? words.leave : words.remove}
          </Button>
        )}
      </Cell>
    </tr>
  )
}

/**
 * Shows the new role at once, and the old one again when it was refused. An arrow key is enough to choose one: what whoever presses it cannot take back by
 * themselves is asked for first.
 */
function RoleChoice({ slug, member, ownRole, isSelf }: Omit<RowProps, 'onRemove'>) {
  const client = useQueryClient()
  const [asked, setAsked] = useState<{ role: Role; over: Member }>()
  const change = useMutation({
    mutationFn: ({ role, over }: NonNullable<typeof asked>) => api.changeRole(slug, over, role),
    onError: (error) => toast(error.message),
    onSettled: () => client.invalidateQueries({ queryKey: ['project', slug] }),
  })
  const roles: Role[] = ownRole === 'owner' ? ['owner', 'admin', 'member'] : ['admin', 'member']
  const choose = (role: Role) => {
    if (change.isPending) return
    const wanted = { role, over: member }
    if (isSelf || role === 'owner') setAsked(wanted)
    else change.mutate(wanted)
  }
  return (
    <>
      <BareSelect
        label={words.roleOf(inBothForms(member.email))}
        value={asked?.role ?? (change.isPending ? change.variables.role : member.role)}
        aria-disabled={change.isPending || undefined} // disabled, it would lose the focus
        onChange={(event) => choose(event.target.value as Role)}
        className="aria-disabled:opacity-60"
      >
        {roles.map((role) => (
          <option key={role} value={role}>
            {text.projects.roles[role]}
          </option>
        ))}
      </BareSelect>
      {asked && (
        <ConfirmDialog
          title={isSelf ? words.ownRoleTitle(text.projects.roles[asked.role]) : words.ownerTitle(inBothForms(member.email))}
          description={isSelf ? words.ownRoleText : words.ownerText}
          action={words.changeRole}
          busy={false}
          onConfirm={() => {
            change.mutate(asked)
            setAsked(undefined)
          }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  )
}

function RemoveMember({ slug, member, isSelf, onClose }: { slug: string; member: Member; isSelf: boolean; onClose(): void }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: () => api.removeMember(slug, member.email),
    async onSuccess() {
      if (isSelf) {
        await navigate({ to: '/projects' })
        client.removeQueries({ queryKey: ['project', slug] })
        await client.invalidateQueries()
      } else await client.invalidateQueries({ queryKey: queries.members(slug).queryKey })
      toast(words.wasRemoved(inBothForms(member.email)))
      onClose()
    },
  })
  return (
    <ConfirmDialog
      title={isSelf ? words.leaveTitle : words.removeTitle(inBothForms(member.email))}
      description={isSelf ? words.leaveText : words.removeText}
      action={isSelf ? words.leave : words.remove}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    />
  )
}
