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
