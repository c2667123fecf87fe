import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { api } from '../api.ts'
import { useDraft } from '../edits.ts'
import { queries } from '../queries.ts'
import { layOut } from '../raw-json.ts'
import { text } from '../strings.ts'
import { toast } from './announcer.tsx'
import { Button } from './button.tsx'
import { Card } from './card.tsx'
import { TextArea } from './field.tsx'
import { Notice } from './notice.tsx'

const BYTES_MAX = 16 * 1024
const words = text.domain

/** The metadata as JSON text, checked while it is typed. It is sent as typed; what is shown is the API's own answer, laid out, with keys and numbers as they were written. */
export function MetadataEditor({ slug, hostname, metadataJson }: { slug: string; hostname: string; metadataJson: string }) {
  const { shown, isChanged, isOutdated, write, revert, forget } = useDraft(layOut(metadataJson))
  const client = useQueryClient()
  const { queryKey } = queries.domain(slug, hostname)
  const save = useMutation({
    mutationFn: (json: string) => api.replaceMetadata(slug, hostname, json),
    async onSuccess() {
      await client.invalidateQueries({ queryKey })
      toast(words.metadataSaved)
    },
  })
  const problem = isChanged ? problemOf(shown) : undefined
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isChanged || problem || save.isPending) return
    save.mutate(shown.trim(), { onSuccess: () => forget(layOut(client.getQueryData(queryKey)?.metadataJson ?? '{}')) })
  }
  return (
    <Card title={words.metadataTitle}>
      <form className="grid gap-4" onSubmit={submit}>
        <TextArea
          label={words.metadataLabel}
          hint={words.metadataText}
          rows={Math.min(Math.max(shown.split('\n').length, 3), 16)}
          value={shown}
          onChange={(event) => {
            write(event.target.value)
            if (!save.isPending) save.reset()
          }}
          error={problem ?? save.error?.message}
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          className="font-mono"
        />
        {isOutdated && !save.isPending && <Notice kind="warning">{words.metadataOutdated}</Notice>}
        <div className="flex gap-2">
          <Button type="submit" look="primary" busy={save.isPending} disabled={!isChanged || problem !== undefined}>
            {text.common.save}
          </Button>
          <Button look="quiet" disabled={!isChanged} onClick={revert}>
            {words.revert}
          </Button>
        </div>
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
