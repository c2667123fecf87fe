import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api.ts'
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
  const stored = layOut(metadataJson)
  const [draft, setDraft] = useState<{ json: string; of: string }>()
  const client = useQueryClient()
  const save = useMutation({
    mutationFn: (json: string) => api.replaceMetadata(slug, hostname, json),
    async onSuccess() {
      await client.invalidateQueries({ queryKey: ['project', slug, 'domain', hostname] })
      setDraft(undefined)
      toast(words.metadataSaved)
    },
  })
  const shown = draft?.json ?? stored
  const problem = draft === undefined ? undefined : problemOf(draft.json)
  const isChanged = draft !== undefined && draft.json !== stored
  const isOutdated = isChanged && draft.of !== stored && !save.isPending
  return (
    <Card title={words.metadataTitle}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (isChanged && !problem && !save.isPending) save.mutate(shown.trim())
        }}
      >
        <TextArea
          label={words.metadataLabel}
          hint={words.metadataText}
          rows={Math.min(Math.max(shown.split('\n').length, 3), 16)}
          value={shown}
          onChange={(event) => {
            setDraft({ json: event.target.value, of: draft?.of ?? stored })
            save.reset()
          }}
          error={problem ?? save.error?.message}
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          className="font-mono"
        />
        {isOutdated && <Notice kind="warning">{words.metadataOutdated}</Notice>}
        <div className="flex gap-2">
          <Button type="submit" look="primary" busy={save.isPending} disabled={!isChanged || problem !== undefined}>
            {text.common.save}
          </Button>
          <Button look="quiet" disabled={!isChanged} onClick={() => setDraft(undefined)}>
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
