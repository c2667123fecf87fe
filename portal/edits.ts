import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { forgetDraft, offerDraft, recallDraft } from './kept-drafts.ts'
import { queries } from './queries.ts'

/** What is written in each field, and what was stored there when that began: who is about to write over a newer one can be told. */
type Edits<Fields> = { [Name in keyof Fields]?: { written: Fields[Name]; of: Fields[Name] } }

export type Draft<Fields extends Record<string, string>> = ReturnType<typeof useDraft<Fields>>

/**
 * What has been typed into a form and is not saved yet. A field that nobody touched stays out of it and shows what is stored, so that saving one
 * setting never puts back another that a colleague has changed meanwhile. It outlives the end of a session: whoever signs in again finds it in the form
 * of that name.
 */
export function useDraft<Fields extends Record<string, string>>(form: string, stored: Fields) {
  const client = useQueryClient()
  const [restored] = useState(() => recallDraft<Edits<Fields>>(form, client.getQueryData(queries.me().queryKey)?.email))
  const [edits, setEdits] = useState<Edits<Fields>>(restored ?? {})
  const edited = namesOf(stored).filter((name) => isEdited(edits[name]))
  const changed = edited.filter((name) => edits[name]!.written.trim() !== stored[name]!.trim())
  const isChanged = changed.length > 0
  useEffect(() => forgetDraft(form), [form])
  useEffect(() => (isChanged ? offerDraft(form, edits) : undefined), [form, edits, isChanged])
  return {
    /** What the form shows. */
    written: { ...stored, ...Object.fromEntries(edited.map((name) => [name, edits[name]!.written])) } as Fields,
    isChanged,
    /** Something else was stored since the edit began. */
    isOutdated: changed.some((name) => edits[name]!.of !== stored[name]),
    /** It was typed before the session ended, and nothing has been done with it since. */
    isRestored: isChanged && edits === restored,
    write: (typed: Partial<Fields>) =>
      setEdits((before) => {
        const edits = { ...before }
        for (const name of namesOf(typed))
          edits[name] = { written: typed[name]!, of: isEdited(before[name]) ? before[name]!.of : stored[name] }
        return edits
      }),
    revert: () => setEdits({}),
    /** To be called once what is `written` is stored, as `now`; what was written since then stays, as an edit of that. */
    forget: (now: Fields) =>
      setEdits((latest) => {
        const since = namesOf(latest).filter((name) => latest[name] !== edits[name])
        return Object.fromEntries(since.map((name) => [name, { ...latest[name], of: now[name] }])) as Edits<Fields>
      }),
  }
}

function namesOf<Fields extends object>(fields: Fields): (keyof Fields & string)[] {
  return Object.keys(fields) as (keyof Fields & string)[]
}

/** What was put back by hand is no edit. */
function isEdited(edit: { written: string; of: string } | undefined): boolean {
  return edit !== undefined && edit.written !== edit.of
}
