import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { api } from '../api.ts'
import { hostnameIn } from '../dns-names.ts'
import { text } from '../strings.ts'
import { inBothForms } from '../unicode-name.ts'
import { toast } from './announcer.tsx'
import { Button } from './button.tsx'
import { Dialog, DialogButtons } from './dialog.tsx'
import { Field } from './field.tsx'

const words = text.domains

/** Adds one hostname and goes on to its page, where the record to add is. */
export function AddDomain({ slug, onClose }: { slug: string; onClose(): void }) {
  const [hostname, setHostname] = useState('')
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
            setHostname(event.target.value)
            claim.reset()
          }}
          error={isMissing && hostname.trim() === '' ? words.hostnameMissing : claim.error?.message}
          autoCapitalize="none"
          autoComplete="off"
          inputMode="url"
          spellCheck={false}
        />
        <DialogButtons>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button type="submit" look="primary" busy={claim.isPending}>
            {words.add}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}
