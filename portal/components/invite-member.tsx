import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api.ts'
import type { Draft } from '../edits.ts'
import { queries } from '../queries.ts'
import type { Role } from '../records.ts'
import { text } from '../strings.ts'
import { inBothForms } from '../unicode-name.ts'
import { toast } from './announcer.tsx'
import { Button } from './button.tsx'
import { Dialog, DraftButtons } from './dialog.tsx'
import { Field, Select } from './field.tsx'

const words = text.members

type Invited = { email: string; role: Role }
type Props = { slug: string; ownRole: Role; draft: Draft<Invited>; onClose(): void }

export function InviteMember({ slug, ownRole, draft, onClose }: Props) {
  const { email, role } = draft.written
  const [isInvalid, setInvalid] = useState(false)
  const client = useQueryClient()
  const invite = useMutation({
    mutationFn: (wanted: Invited) => api.invite(slug, wanted),
    async onSuccess(member, wanted) {
      await client.invalidateQueries({ queryKey: queries.members(slug).queryKey })
      if (member.role !== wanted.role) return
      toast(words.wasInvited(wanted.email))
      draft.revert()
      onClose()
    },
  })
  // To invite somebody again changes no role.
  const kept = invite.data && invite.data.role !== invite.variables.role ? invite.data : undefined
  const keptRole = kept && words.roleKept(inBothForms(kept.email), text.projects.roles[kept.role])
  const roles: Role[] = ownRole === 'owner' ? ['member', 'admin', 'owner'] : ['member', 'admin']
  return (
    <Dialog title={words.inviteTitle} description={words.inviteText} onClose={onClose}>
      <form
        noValidate
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          setInvalid(!email.includes('@'))
          if (email.includes('@') && !invite.isPending) invite.mutate({ email: email.trim(), role })
        }}
      >
        <Field
          label={text.signIn.email}
          type="email"
          autoComplete="off"
          value={email}
          onChange={(event) => {
            draft.write({ email: event.target.value })
            setInvalid(false)
            if (!invite.isPending) invite.reset()
          }}
          error={isInvalid ? text.signIn.emailInvalid : (invite.error?.message ?? keptRole)}
        />
        <Select
          label={words.role}
          value={role}
          onChange={(event) => {
            draft.write({ role: event.target.value as Role })
            if (!invite.isPending) invite.reset()
          }}
        >
          {roles.map((one) => (
            <option key={one} value={one}>
              {text.projects.roles[one]}
            </option>
          ))}
        </Select>
        <DraftButtons draft={draft} onClose={onClose}>
          <Button type="submit" look="primary" busy={invite.isPending}>
            {words.send}
          </Button>
        </DraftButtons>
      </form>
    </Dialog>
  )
}
