import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { API_URL, api } from '../api.ts'
import type { Draft } from '../edits.ts'
import { queries } from '../queries.ts'
import { text } from '../strings.ts'
import { Button } from './button.tsx'
import { CodeBlock } from './code-block.tsx'
import { CopyButton } from './copy-button.tsx'
import { Dialog, DialogButtons, DraftButtons } from './dialog.tsx'
import { Field } from './field.tsx'
import { Notice } from './notice.tsx'

const SHOWN_S = 10
const words = text.tokens

type Props = { slug: string; draft: Draft<{ name: string }>; onClose(): void }

/** Issues a token and shows it for ten seconds, this once. */
export function IssueToken({ slug, draft, onClose }: Props) {
  const { name } = draft.written
  const client = useQueryClient()
  const issue = useMutation({
    mutationFn: () => api.issueToken(slug, name.trim()),
    gcTime: 0, // the token stays nowhere once the dialog is closed
    onSuccess() {
      draft.revert()
      void client.invalidateQueries({ queryKey: queries.tokens(slug).queryKey })
    },
  })
  if (issue.data) return <Issued token={issue.data.token} onClose={onClose} />
  return (
    <Dialog title={words.issueTitle} onClose={onClose}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (!issue.isPending) issue.mutate()
        }}
      >
        <Field
          label={words.name}
          hint={words.nameHint}
          optional
          maxLength={80}
          autoComplete="off"
          value={name}
          onChange={(event) => draft.write({ name: event.target.value })}
        />
        {issue.error && <Notice kind="bad">{issue.error.message}</Notice>}
        <DraftButtons draft={draft} onClose={onClose}>
          <Button type="submit" look="primary" busy={issue.isPending}>
            {words.create}
          </Button>
        </DraftButtons>
      </form>
    </Dialog>
  )
}

function Issued({ token: issued, onClose }: { token: string; onClose(): void }) {
  const [token, setToken] = useState<string | undefined>(issued)
  const [left, setLeft] = useState(SHOWN_S)
  useEffect(() => {
    const ticks = setInterval(() => setLeft((seconds) => Math.max(seconds - 1, 0)), 1_000)
    const mask = setTimeout(() => setToken(undefined), SHOWN_S * 1_000)
    return () => {
      clearInterval(ticks)
      clearTimeout(mask)
    }
  }, [])
  const curlWith = (secret: string) => `curl ${API_URL}/v1/edge/domains -H "Authorization: Bearer ${secret}"`
  return (
    <Dialog title={token ? words.shownTitle : words.token} {...(token && { description: words.shownText })} onClose={onClose} wide>
      <div className="grid gap-4">
        <div className="flex flex-wrap items-center gap-3 rounded-xl border border-stone-300 bg-stone-100 p-3 dark:border-stone-700 dark:bg-stone-950">
          <code data-testid="token" className="min-h-10 min-w-0 flex-1 basis-60 font-mono text-sm break-all">
            {token ?? `svc_${'•'.repeat(16)}`}
          </code>
          {token && <CopyButton value={token} what={words.token} look="primary" />}
        </div>
        <p role="status" className="min-h-5 text-sm text-stone-600 dark:text-stone-400">
          {token ? <span aria-hidden="true">{words.hidesIn(left)}</span> : words.masked}
        </p>
        {token && <CodeBlock label={words.curl} code={curlWith('svc_…')} copied={curlWith(token)} />}
      </div>
      <DialogButtons>
        <Button look={token ? 'plain' : 'primary'} onClick={onClose}>
          {words.done}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}
