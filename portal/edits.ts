import { useState } from 'react'

/**
 * What has been typed into a form and is not saved yet. A field that nobody touched stays out of it and shows what is stored, so that saving one
 * setting never puts back another that a colleague has changed meanwhile.
 */
export function useEdits<Fields extends object>() {
  const [edits, setEdits] = useState<Partial<Fields>>({})
  const edit = (typed: Partial<Fields>) => setEdits((before) => ({ ...before, ...typed }))
  /** To be called once `edits` are stored; what was typed since then stays. */
  const forget = () => setEdits((now) => (now === edits ? {} : now))
  return [edits, edit, forget] as const
}

/** One long text that is edited: what was stored when that began is kept with it, so that who is about to write over a newer one can be told. */
export function useDraft(stored: string) {
  const [draft, setDraft] = useState<{ written: string; of: string }>()
  const isChanged = draft !== undefined && draft.written !== stored
  return {
    shown: draft?.written ?? stored,
    isChanged,
    isOutdated: isChanged && draft.of !== stored,
    write: (written: string) => setDraft((before) => ({ written, of: before?.of ?? stored })),
    revert: () => setDraft(undefined),
    /** To be called once what is `shown` is stored, as `now`; what was written since then stays, as an edit of that. */
    forget: (now: string) => setDraft((latest) => (latest && latest !== draft ? { ...latest, of: now } : undefined)),
  }
}
