import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { api } from '../api.ts'
import { hostnameIn } from '../dns-names.ts'
import type { Draft } from '../edits.ts'
import { text } from '../strings.ts'
import { inBothForms } from '../unicode-name.ts'
import { toast } from './announcer.tsx'
import { Button } from './button.tsx'
import { Dialog, DraftButtons } from './dialog.tsx'
import { Field } from './field.tsx'

const words = text.domains

type Props = { slug: string; draft: Draft<{ hostname: string }>; onClose(): void }

/** Adds one hostname and goes on to its page, where the record to add is. */
export function AddDomain({ slug, draft, onClose }: Props) {
  const { hostname } = draft.written
  const [isMissing, setMissing] = useState(false)
  const client = useQueryClient()
  const navigate = useNavigate()
  const claim = useMutation({
    mutationFn: (wanted: string) => api.claim(slug, wanted),
    async onSuccess(domain) {
      void client.invalidateQueries({ queryKey: ['project', slug] })
      toast(words.added(inBothForms(domain.hostname)))
      await navigate({ to: '/projects/$slug/domains/$hostname', params: { slug, hostname: domain.hostname } })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const wanted = hostnameIn(hostname)
    setMissing(wanted === '')
    if (wanted !== '' && !claim.isPending) claim.mutate(wanted)
  }
  return (
    <Dialog title={words.addTitle} onClose={onClose}>
      <form onSubmit={submit} noValidate className="grid gap-2">
        <Field
          label={words.hostname}
          hint={words.hostnameHint}
          value={hostname}
          onChange={(event) => {
            draft.write({ hostname: event.target.value })
            if (!claim.isPending) claim.reset()
          }}
          error={isMissing && hostname.trim() === '' ? words.hostnameMissing : claim.error?.message}
          autoCapitalize="none"
          autoComplete="off"
          inputMode="url"
          spellCheck={false}
        />
        <DraftButtons draft={draft} onClose={onClose}>
          <Button type="submit" look="primary" busy={claim.isPending}>
            {words.add}
          </Button>
        </DraftButtons>
      </form>
    </Dialog>
  )
}
