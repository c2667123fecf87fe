import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { api } from '../api.ts'
import { Button, ButtonLink } from '../components/button.tsx'
import { Field } from '../components/field.tsx'
import { Notice } from '../components/notice.tsx'
import { UpstreamAnswer } from '../components/upstream-answer.tsx'
import { type Draft, useDraft } from '../edits.ts'
import { usePageTitle } from '../page-title.ts'
import { queries } from '../queries.ts'
import type { CheckedProject } from '../records.ts'
import { text } from '../strings.ts'
import { isUpstream } from '../upstream-address.ts'

const NOTHING = { name: '', upstream: '' }
const words = text.newProject

/** A project in one form; its address is tried at once, and the page says what came back. */
export function NewProjectPage() {
  const client = useQueryClient()
  const draft = useDraft('new project', NOTHING)
  const create = useMutation({
    mutationFn: api.createProject,
    async onSuccess() {
      draft.revert()
      await client.invalidateQueries({ queryKey: queries.projects().queryKey })
      await client.invalidateQueries({ queryKey: queries.me().queryKey })
    },
  })
  usePageTitle(words.title)
  return (
    <div className="mx-auto w-full max-w-lg sm:py-6">
      {create.data ? (
        <Created project={create.data} />
      ) : (
        <NewProjectForm draft={draft} busy={create.isPending} error={create.error} onCreate={(wanted) => create.mutate(wanted)} />
      )}
    </div>
  )
}

type FormProps = {
  draft: Draft<typeof NOTHING>
  busy: boolean
  error: Error | null
  onCreate(wanted: { name: string; upstreamUrl: string }): void
}

function NewProjectForm({ draft, busy, error, onCreate }: FormProps) {
  const { name, upstream } = draft.written
  const [isTried, setTried] = useState(false)
  const upstreamUrl = /^https?:/i.test(upstream.trim()) ? upstream.trim() : `https://${upstream.trim()}`
  const nameError = name.trim() === '' ? words.nameMissing : undefined
  const upstreamError = upstream.trim() === '' || !isUpstream(upstreamUrl) ? words.upstreamInvalid : undefined
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (!nameError && !upstreamError && !busy) onCreate({ name: name.trim(), upstreamUrl })
  }
  return (
    <form onSubmit={submit} noValidate className="grid gap-6">
      <div>
        <h1 className="text-2xl font-semibold tracking-tight">{words.title}</h1>
        <p className="mt-2 text-stone-600 dark:text-stone-300">{words.lead}</p>
      </div>
      <Field
        label={words.name}
        hint={words.nameHint}
        placeholder={words.namePlaceholder}
        value={name}
        maxLength={80}
        autoComplete="off"
        onChange={(event) => draft.write({ name: event.target.value })}
        error={isTried ? nameError : undefined}
      />
      <Field
        label={words.upstream}
        hint={words.upstreamHint}
        placeholder={words.upstreamPlaceholder}
        value={upstream}
        inputMode="url"
        autoCapitalize="none"
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => draft.write({ upstream: event.target.value })}
        error={isTried ? upstreamError : undefined}
      />
      {error && <Notice kind="bad">{error.message}</Notice>}
      {draft.isRestored && <Notice kind="warning">{text.common.typedBefore}</Notice>}
      <Button type="submit" look="primary" size="large" busy={busy}>
        {busy ? words.creating : words.create}
      </Button>
    </form>
  )
}

function Created({ project }: { project: CheckedProject }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  return (
    <div className="grid justify-items-stretch gap-6">
      <h1 ref={heading} tabIndex={-1} className="text-2xl font-semibold tracking-tight break-words outline-none">
        {words.doneTitle(project.name)}
      </h1>
      <UpstreamAnswer project={project} />
      <ButtonLink to="/projects/$slug" params={{ slug: project.slug }} look="primary" size="large">
        {words.next}
      </ButtonLink>
    </div>
  )
}
