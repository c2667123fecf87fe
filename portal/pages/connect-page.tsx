import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { ApiProblem, api, streams } from '../api.ts'
import { announce } from '../components/announcer.tsx'
import { Button, OuterLink } from '../components/button.tsx'
import { Card, Skeleton } from '../components/card.tsx'
import { ConnectFrame, Done } from '../components/connect-frame.tsx'
import { DelegationSentence } from '../components/delegation-card.tsx'
import { Hostname } from '../components/hostname.tsx'
import { LoadProblem, Notice } from '../components/notice.tsx'
import { ProviderSteps } from '../components/provider-steps.tsx'
import { Comparison, RecordsToAdd } from '../components/record-cards.tsx'
import { SendInstructions } from '../components/send-instructions.tsx'
import {
  certificateRecord,
  endsLink,
  furtherRecord,
  hindranceOf,
  isDone,
  isToDo,
  isVendorsToMend,
  lacksOwnRecord,
  lacksOwnRecordAlone,
  recordsTitle,
  recordsToAdd,
} from '../connection.ts'
import { isWildcard, placeOf, withoutStar } from '../dns-names.ts'
import { followEvents } from '../event-stream.ts'
import { useFragmentToken } from '../fragment-token.ts'
import { usePageTitle } from '../page-title.ts'
import { queries } from '../queries.ts'
import type { Connect } from '../records.ts'
import { onDate, text } from '../strings.ts'
import { inBothForms } from '../unicode-name.ts'

const words = text.connect

/** The one page of the vendor's customer, who has no account: the record to add, the way to add it, and when it works. */
export function ConnectPage() {
  const token = useFragmentToken('#')
  return token === undefined ? <Ended sentence={words.incomplete} /> : <LinkedPage key={token} token={token} />
}

function LinkedPage({ token }: { token: string }) {
  const link = useQuery(queries.connect(token))
  useLinkNews(token, link.data !== undefined && isDone(link.data))
  if (link.error instanceof ApiProblem && endsLink(link.error.code)) return <Ended sentence={words.goneText} />
  if (link.data) return <Instructions token={token} link={link.data} />
  return (
    <ConnectFrame>
      {link.error ? <LoadProblem error={link.error} onRetry={() => void link.refetch()} /> : <Skeleton rows={3} height="h-32" />}
    </ConnectFrame>
  )
}

/** The stream only says that something changed; the page then asks what. Once all is done there is nothing more to wait for. */
function useLinkNews(token: string, isDone: boolean): void {
  const client = useQueryClient()
  useEffect(() => {
    if (isDone) return
    const refresh = () => void client.invalidateQueries({ queryKey: ['connect', token] })
    return followEvents({ path: streams.connect, token, onEvent: refresh, onStale: refresh, onRefused: refresh })
  }, [client, token, isDone])
}

function Instructions({ token, link }: { token: string; link: Connect }) {
  const { hostname, project, status } = link
  const name = inBothForms(hostname)
  usePageTitle(words.title(name))
  useEffect(() => announce(text.status.changed(name, text.status.labels[status])), [name, status])
  const wildcard = isWildcard(hostname)
  const hindrance = hindranceOf(link)
  const hinderedText = hindrance && words.hinderedTexts[hindrance]
  return (
    <ConnectFrame project={project}>
      <h1 className="text-2xl font-semibold tracking-tight text-balance [overflow-wrap:anywhere] sm:text-3xl">
        <Hostname name={withoutStar(hostname)} say={wildcard ? words.wildcardHeading : words.heading} />
      </h1>
      {status === 'live' ? (
        <Done
          heading={hindrance ? words.hinderedHeading : words.liveHeading}
          sentence={hinderedText ?? words.liveText(project.name)}
          look={hindrance ? 'hindered' : 'done'}
        >
          {wildcard ? (
            <p>{words.wildcardText(inBothForms(withoutStar(hostname)))}</p>
          ) : (
            <OuterLink look="primary" size="large" href={`https://${hostname}`}>
              <span className="[overflow-wrap:anywhere]">{words.open(hostname)}</span>
            </OuterLink>
          )}
        </Done>
      ) : isVendorsToMend(link) ? (
        <Findings token={token} link={link} />
      ) : isToDo(link) ? (
        <ToDo token={token} link={link} />
      ) : (
        <Done
          heading={hindrance ? words.hinderedHeading : words.verifiedHeading}
          sentence={hinderedText ?? (status === 'certificate-failed' ? words.failedText : words.verifiedText)}
          look={hindrance ? 'hindered' : 'under-way'}
        />
      )}
      {hindrance && (
        <>
          <Findings token={token} link={link} />
          <SendInstructions token={token} />
        </>
      )}
      <p className="text-sm text-stone-600 dark:text-stone-400">{words.expires(onDate(link.expiresAt))}</p>
    </ConnectFrame>
  )
}

/** What is wrong comes first: on a phone it would stand below a screen of steps. */
function ToDo({ token, link }: { token: string; link: Connect }) {
  const { hostname } = link
  const further = furtherRecord(link)
  const records = recordsToAdd(link)
  return (
    <>
      <p className="text-lg leading-relaxed text-pretty text-stone-600 dark:text-stone-300">{words.lead(link.project.name)}</p>
      <Findings token={token} link={link} />
      <Card title={text.domain[recordsTitle(link.dns, certificateRecord(link))]}>
        <p className="text-sm text-stone-600 dark:text-stone-400">
          {text.domain.recordLead(inBothForms(placeOf(hostname, link.zone).zone))}
        </p>
        <RecordsToAdd records={records} zone={link.zone} />
        <ProviderSteps records={records} zone={link.zone} hint={link.provider} label={words.provider} />
        {further && !isWildcard(hostname) && (
          <details className="text-sm">
            <summary className="cursor-pointer rounded py-1">{words.inUse}</summary>
            <div className="mt-3 grid gap-3">
              <p className="text-stone-600 dark:text-stone-400">{text.domain.delegationText}</p>
              <DelegationSentence delegation={further} />
              <RecordsToAdd records={[further]} zone={link.zone} />
            </div>
          </details>
        )}
      </Card>
      <SendInstructions token={token} />
    </>
  )
}

function Findings({ token, link }: { token: string; link: Connect }) {
  const { dns, status } = link
  const further = certificateRecord(link)
  const isToAdd = lacksOwnRecordAlone(dns)
  const client = useQueryClient()
  const check = useMutation({
    mutationFn: () => api.connectCheck(token),
    onSuccess: (link) => client.setQueryData(queries.connect(token).queryKey, link),
  })
  const again: ReactNode = (
    <Button busy={check.isPending} onClick={() => check.mutate()}>
      {words.lookAgain}
    </Button>
  )
  return (
    <Card title={words.now} aside={again}>
      {check.error && <Notice kind="bad">{check.error.message}</Notice>}
      <Notice kind={status === 'wrong-record' && !isToAdd && !isVendorsToMend(link) ? 'warning' : 'plain'} title={findingTitle(link)}>
        <p>{dns.sentence}</p>
        {further && <p className="mt-1">{further.sentence}</p>}
        {(dns.state === 'absent' || isToAdd) && <p className="mt-1">{words.waitingText}</p>}
      </Notice>
      {dns.warnings?.map(({ kind, sentence }) => (
        <Notice key={kind} kind="warning">
          {sentence}
        </Notice>
      ))}
      <p className="text-sm text-stone-600 dark:text-stone-400">{words.watching}</p>
      {dns.found.length > 0 && (
        <details className="text-sm">
          <summary className="cursor-pointer rounded py-1">{words.details}</summary>
          <div className="mt-3">
            <Comparison found={dns.found} expected={dns.expected} />
          </div>
        </details>
      )}
    </Card>
  )
}

function findingTitle(link: Connect): string {
  const { status, dns } = link
  if (lacksOwnRecord(dns)) return dns.state === 'proof-needed' ? words.twoMoreTitle : words.waitingTitle
  if (status === 'wrong-record' && dns.state !== 'cname-target-broken') return words.wrongTitle
  if (dns.state === 'verified') return certificateRecord(link) ? words.findings['proof-needed']! : words.verifiedHeading
  return words.findings[dns.state] ?? words.waitingTitle
}

function Ended({ sentence }: { sentence: string }) {
  usePageTitle(words.goneTitle)
  return (
    <ConnectFrame>
      <h1 className="text-2xl font-semibold tracking-tight">{words.goneTitle}</h1>
      <p className="leading-relaxed text-stone-600 dark:text-stone-300">{sentence}</p>
    </ConnectFrame>
  )
}
