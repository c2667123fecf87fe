import type { FormEvent } from 'react'
import { placeOf } from '../dns-names.ts'
import { useDraft } from '../edits.ts'
import { useProjectChange } from '../project-change.ts'
import type { DnsRecord, Project } from '../records.ts'
import { text } from '../strings.ts'
import { inBothForms } from '../unicode-name.ts'
import { Card } from './card.tsx'
import { Field } from './field.tsx'
import { Notice } from './notice.tsx'
import { RecordsToAdd } from './record-cards.tsx'
import { SaveOrRevert } from './save-or-revert.tsx'

const words = text.settings
const HOSTNAME = /^[^\s.]+(\.[^\s.]+)+$/

/** What customers are told to point their hostnames at: a name of the vendor's own, which leads to the edge host, or that one itself. */
export function CnameTarget({ project, edgeHost, mayChange }: { project: Project; edgeHost: string; mayChange: boolean }) {
  const stored = project.cnameTarget ?? ''
  const draft = useDraft(`CNAME target of ${project.slug}`, { target: stored })
  const target = draft.written.target.trim()
  const change = useProjectChange(project.slug)
  const error = target === '' || HOSTNAME.test(target) ? undefined : words.cnameTargetInvalid
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (error || !draft.isChanged || change.isPending) return
    change.mutate(
      { cnameTarget: target === '' ? null : target },
      { onSuccess: ({ cnameTarget }) => draft.forget({ target: cnameTarget ?? '' }) },
    )
  }
  return (
    <Card title={words.cnameTarget}>
      <div className="grid max-w-prose gap-2 text-sm text-stone-600 dark:text-stone-400">
        <p>
          {words.cnameTargetNow}{' '}
          <span className="font-mono font-medium text-stone-900 dark:text-stone-100">{inBothForms(stored || edgeHost)}</span>
        </p>
        <p>{stored === '' ? words.cnameTargetEmpty : words.cnameTargetOwn}</p>
      </div>
      <form onSubmit={submit} noValidate className="grid max-w-lg grid-cols-1 gap-5">
        <Field
          label={words.cnameTargetName}
          hint={words.cnameTargetHint(edgeHost)}
          optional
          placeholder="customers.your-company.com"
          value={draft.written.target}
          disabled={!mayChange}
          inputMode="url"
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => draft.write({ target: event.target.value })}
          error={error}
        />
        {draft.isChanged && target !== '' && !error && <RecordFirst target={target.toLowerCase()} edgeHost={edgeHost} />}
        {change.error && <Notice kind="bad">{change.error.message}</Notice>}
        {mayChange && <SaveOrRevert draft={draft} busy={change.isPending} isValid={error === undefined} />}
      </form>
    </Card>
  )
}

/** No CNAME may stand at a domain itself. */
function RecordFirst({ target, edgeHost }: { target: string; edgeHost: string }) {
  const { label, zone } = placeOf(target)
  const record: DnsRecord = { name: target, type: label === '@' ? 'ALIAS' : 'CNAME', value: edgeHost }
  return (
    <div className="grid grid-cols-1 gap-2">
      <p className="text-sm font-medium">{words.cnameTargetRecord(zone)}</p>
      <RecordsToAdd records={[record]} zone={zone} />
    </div>
  )
}
