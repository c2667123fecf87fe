import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { api } from '../api.ts'
import { toast } from '../components/announcer.tsx'
import { Button } from '../components/button.tsx'
import { Card, PageHead, Skeleton } from '../components/card.tsx'
import { CnameTarget } from '../components/cname-target.tsx'
import { ConfirmDialog } from '../components/dialog.tsx'
import { ErrorPage } from '../components/error-page.tsx'
import { Field, Select } from '../components/field.tsx'
import { Notice } from '../components/notice.tsx'
import { SaveOrRevert } from '../components/save-or-revert.tsx'
import { UpstreamAnswer } from '../components/upstream-answer.tsx'
import { useDraft } from '../edits.ts'
import { usePageTitle } from '../page-title.ts'
import { useProjectChange } from '../project-change.ts'
import { queries } from '../queries.ts'
import { type Project, UPSTREAM_PROTOCOLS, type UpstreamProtocol } from '../records.ts'
import { useSlug } from '../route-params.ts'
import { text } from '../strings.ts'
import { isUpstream } from '../upstream-address.ts'

const words = text.settings

export function SettingsPage() {
  const slug = useSlug()
  const project = useQuery(queries.project(slug))
  usePageTitle(words.title)
  if (!project.data) return <Skeleton rows={3} height="h-40" />
  const mayChange = project.data.role !== 'member'
  return (
    <>
      <PageHead title={words.title} {...(!mayChange && { lead: words.readOnly })} />
      <div className="grid grid-cols-1 gap-5">
        <General project={project.data} mayChange={mayChange} />
        <Plan project={project.data} />
        <Brand project={project.data} mayChange={mayChange} />
        {project.data.edgeHost && <CnameTarget project={project.data} edgeHost={project.data.edgeHost} mayChange={mayChange} />}
        <ErrorPage project={project.data} mayChange={mayChange} />
        {project.data.role === 'owner' && <Danger project={project.data} />}
      </div>
    </>
  )
}

function General({ project, mayChange }: { project: Project; mayChange: boolean }) {
  const draft = useDraft(`general settings of ${project.slug}`, generalOf(project))
  const { name, upstream, protocol } = draft.written
  const change = useProjectChange(project.slug)
  const nameError = name.trim() === '' ? text.newProject.nameMissing : undefined
  const upstreamError = isUpstream(upstream.trim()) ? undefined : text.newProject.upstreamInvalid
  const protocolError = upstreamError ? undefined : protocolMisfit(protocol, upstream.trim())
  const isValid = !nameError && !upstreamError && !protocolError
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isValid || !draft.isChanged || change.isPending) return
    const changes = {
      ...(name.trim() !== project.name && { name: name.trim() }),
      ...(upstream.trim() !== project.upstreamUrl && { upstreamUrl: upstream.trim() }),
      ...(protocol !== project.upstreamProtocol && { upstreamProtocol: protocol }),
    }
    change.mutate(changes, { onSuccess: (changed) => draft.forget(generalOf(changed)) })
  }
  return (
    <Card title={words.general}>
      <form onSubmit={submit} noValidate className="grid max-w-lg gap-5">
        <Field
          label={text.newProject.name}
          value={name}
          maxLength={80}
          disabled={!mayChange}
          autoComplete="off"
          onChange={(event) => draft.write({ name: event.target.value })}
          error={nameError}
        />
        <Field
          label={text.newProject.upstream}
          hint={words.tryUpstream}
          value={upstream}
          disabled={!mayChange}
          inputMode="url"
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => draft.write({ upstream: event.target.value })}
          error={upstreamError}
        />
        <Select
          label={words.protocol}
          hint={words.protocolHint}
          value={protocol}
          disabled={!mayChange}
          onChange={(event) => draft.write({ protocol: event.target.value as UpstreamProtocol })}
          error={protocolError}
        >
          {UPSTREAM_PROTOCOLS.map((one) => (
            <option key={one} value={one}>
              {words.protocols[one]}
            </option>
          ))}
        </Select>
        {change.error && <Notice kind="bad">{change.error.message}</Notice>}
        {change.data && <UpstreamAnswer project={change.data} />}
        {mayChange && <SaveOrRevert draft={draft} busy={change.isPending} isValid={isValid} />}
      </form>
    </Card>
  )
}

function generalOf({ name, upstreamUrl: upstream, upstreamProtocol: protocol }: Project) {
  return { name, upstream, protocol }
}

function protocolMisfit(protocol: UpstreamProtocol, upstream: string): string | undefined {
  if (protocol === 'http1') return undefined
  const isSecure = /^https:/i.test(upstream)
  return isSecure === (protocol === 'h2') ? undefined : words.protocolMisfit[protocol]
}

function Plan({ project: { plan, domains } }: { project: Project }) {
  const says = plan.domainsMax === null ? words.planOpen(domains) : words.planUse(domains, plan.domainsMax)
  return (
    <Card title={words.plan} aside={<span className="text-sm text-stone-600 dark:text-stone-400">{words.planName(plan.name)}</span>}>
      <div className="grid max-w-lg gap-2 text-sm">
        <p className="tabular-nums">{says}</p>
        {plan.domainsMax !== null && (
          <progress aria-label={says} value={domains} max={plan.domainsMax} className="h-2 w-full accent-teal-700" />
        )}
        {plan.domainsMax !== null && domains >= plan.domainsMax && <Notice kind="warning">{words.planFull}</Notice>}
      </div>
    </Card>
  )
}

const COLOR = /^#[0-9a-f]{6}$/i

function Brand({ project, mayChange }: { project: Project; mayChange: boolean }) {
  const stored = brandOf(project)
  const draft = useDraft(`brand of ${project.slug}`, stored)
  const { color, logo } = draft.written
  const change = useProjectChange(project.slug)
  const colorError = color === '' || COLOR.test(color) ? undefined : words.colorInvalid
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (colorError || !draft.isChanged || change.isPending) return
    const brand = {
      ...(color !== stored.color && { color: color || null }),
      ...(logo.trim() !== stored.logo && { logoUrl: logo.trim() || null }),
    }
    change.mutate({ brand }, { onSuccess: (changed) => draft.forget(brandOf(changed)) })
  }
  return (
    <Card title={words.brand}>
      <p className="max-w-prose text-sm text-stone-600 dark:text-stone-400">{words.brandText}</p>
      <form onSubmit={submit} noValidate className="grid max-w-lg gap-5">
        <div className="flex items-start gap-3">
          <div className="min-w-0 flex-1">
            <Field
              label={words.color}
              placeholder="#0f766e"
              value={color}
              disabled={!mayChange}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => draft.write({ color: event.target.value.trim() })}
              error={colorError}
            />
          </div>
          <input
            type="color"
            aria-label={words.color}
            value={COLOR.test(color) ? color : '#0f766e'}
            disabled={!mayChange}
            onChange={(event) => draft.write({ color: event.target.value })}
            className="mt-6.5 h-10 w-14 cursor-pointer rounded-lg border border-stone-400/80 bg-white p-1 dark:border-stone-600 dark:bg-stone-900"
          />
        </div>
        <Field
          label={words.logo}
          hint={words.logoHint}
          value={logo}
          disabled={!mayChange}
          inputMode="url"
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => draft.write({ logo: event.target.value })}
        />
        {change.error && <Notice kind="bad">{change.error.message}</Notice>}
        {mayChange && <SaveOrRevert draft={draft} busy={change.isPending} isValid={colorError === undefined} />}
      </form>
    </Card>
  )
}

function brandOf({ brand }: Project) {
  return { color: brand?.color ?? '', logo: brand?.logoUrl ?? '' }
}

function Danger({ project }: { project: Project }) {
  const [isAsking, setAsking] = useState(false)
  const client = useQueryClient()
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: () => api.removeProject(project.slug),
    async onSuccess() {
      toast(words.removed(project.name))
      await navigate({ to: '/projects' })
      client.removeQueries({ queryKey: ['project', project.slug] })
      await client.invalidateQueries()
    },
  })
  return (
    <Card title={words.danger} tone="danger">
      <p className="text-sm text-stone-600 dark:text-stone-300">
        {project.domains > 0 ? words.removeBlocked(project.domains) : words.removeText}
      </p>
      <div>
        <Button disabled={project.domains > 0} onClick={() => setAsking(true)}>
          {words.removeProject}
        </Button>
      </div>
      {isAsking && (
        <ConfirmDialog
          title={words.removeProject}
          description={words.removeText}
          action={words.removeProject}
          typed={project.slug}
          busy={remove.isPending}
          error={remove.error}
          onConfirm={() => remove.mutate()}
          onClose={() => setAsking(false)}
        />
      )}
    </Card>
  )
}
