import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { api, wasOvertaken } from '../api.ts'
import { useDraft } from '../edits.ts'
import { queries } from '../queries.ts'
import { layOut } from '../raw-json.ts'
import { text } from '../strings.ts'
import { toast } from './announcer.tsx'
import { Card } from './card.tsx'
import { TextArea } from './field.tsx'
import { SaveOrRevert } from './save-or-revert.tsx'

const BYTES_MAX = 16 * 1024
const words = text.domain

/** The metadata as JSON text, checked while it is typed. It is sent as typed; what is shown is the API's own answer, laid out, with keys and numbers as they were written. */
export function MetadataEditor({ slug, hostname, metadataJson }: { slug: string; hostname: string; metadataJson: string }) {
  const draft = useDraft(`metadata of ${hostname} in ${slug}`, { json: layOut(metadataJson) })
  const { json } = draft.written
  const client = useQueryClient()
  const { queryKey } = queries.domain(slug, hostname)
  const save = useMutation({
    mutationFn: (wanted: string) => api.replaceMetadata(slug, hostname, wanted, client.getQueryData(queryKey)?.etag),
    async onSuccess() {
      await client.invalidateQueries({ queryKey })
      toast(words.metadataSaved)
    },
    onError: (error) => (wasOvertaken(error) ? client.invalidateQueries({ queryKey }) : undefined),
  })
  const problem = draft.isChanged ? problemOf(json) : undefined
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!draft.isChanged || problem || save.isPending) return
    save.mutate(json.trim(), { onSuccess: () => draft.forget({ json: layOut(client.getQueryData(queryKey)?.metadataJson ?? '{}') }) })
  }
  return (
    <Card title={words.metadataTitle}>
      <form className="grid gap-4" onSubmit={submit}>
        <TextArea
          label={words.metadataLabel}
          hint={words.metadataText}
          rows={Math.min(Math.max(json.split('\n').length, 3), 16)}
          value={json}
          onChange={(event) => {
            draft.write({ json: event.target.value })
            if (!save.isPending) save.reset()
          }}
          error={problem ?? save.error?.message}
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          className="font-mono"
        />
        <SaveOrRevert draft={draft} busy={save.isPending} isValid={problem === undefined} />
      </form>
    </Card>
  )
}

function problemOf(json: string): string | undefined {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return words.metadataNotObject
  } catch (error) {
    return words.metadataNotJson((error as Error).message)
  }
  const bytes = new TextEncoder().encode(json.trim()).length
  return bytes > BYTES_MAX ? words.metadataTooLarge(bytes) : undefined
}
