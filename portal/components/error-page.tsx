import type { FormEvent } from 'react'
import { errorPagePreview } from '../api.ts'
import { useDraft } from '../edits.ts'
import { useProjectChange } from '../project-change.ts'
import type { Project } from '../records.ts'
import { text } from '../strings.ts'
import { Card } from './card.tsx'
import { TextArea } from './field.tsx'
import { Notice } from './notice.tsx'
import { SaveOrRevert } from './save-or-revert.tsx'

const words = text.settings
const BYTES_MAX = 32_768

/** The page that stands in for an application that does not answer: as visitors see it, and the vendor's own HTML for it. */
export function ErrorPage({ project, mayChange }: { project: Project; mayChange: boolean }) {
  const draft = useDraft(`error page of ${project.slug}`, { html: project.errorPage ?? '' })
  const { html } = draft.written
  const change = useProjectChange(project.slug)
  const bytes = new TextEncoder().encode(html).length
  const error = bytes > BYTES_MAX ? words.errorPageTooLong(Math.ceil(bytes / 1024)) : undefined
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (error || !draft.isChanged || change.isPending) return
    change.mutate(
      { errorPage: html.trim() === '' ? null : html },
      { onSuccess: ({ errorPage }) => draft.forget({ html: errorPage ?? '' }) },
    )
  }
  return (
    <Card title={words.errorPage}>
      <p className="max-w-prose text-sm text-stone-600 dark:text-stone-400">{words.errorPageText}</p>
      <iframe
        key={`${project.name} ${project.brand?.color} ${project.errorPage}`}
        title={words.errorPagePreview}
        src={errorPagePreview(project.slug)}
        sandbox=""
        className="h-90 w-full max-w-2xl rounded-lg border bg-white border-stone-300 dark:border-stone-700"
      />
      <form onSubmit={submit} noValidate className="grid max-w-2xl gap-5">
        <TextArea
          label={words.errorPageOwn}
          hint={words.errorPageHint}
          optional
          rows={6}
          value={html}
          disabled={!mayChange}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => draft.write({ html: event.target.value })}
          error={error}
          className="font-mono"
        />
        {change.error && <Notice kind="bad">{change.error.message}</Notice>}
        {mayChange && <SaveOrRevert draft={draft} busy={change.isPending} isValid={error === undefined} />}
      </form>
    </Card>
  )
}
