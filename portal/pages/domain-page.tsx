import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiProblem, api } from '../api.ts'
import { toast } from '../components/announcer.tsx'
import { Button, OuterLink } from '../components/button.tsx'
import { Card, Facts, Skeleton } from '../components/card.tsx'
import { CertificateCard } from '../components/certificate-card.tsx'
import { CustomerLink } from '../components/customer-link.tsx'
import { DelegationCard } from '../components/delegation-card.tsx'
import { Hostname } from '../components/hostname.tsx'
import { MetadataEditor } from '../components/metadata-editor.tsx'
import { LoadProblem, Notice } from '../components/notice.tsx'
import { ProviderSteps } from '../components/provider-steps.tsx'
import { Comparison, RecordsToAdd } from '../components/record-cards.tsx'
import { RemoveDomain, useIsRemoving } from '../components/remove-domain.tsx'
import { StatusBadge } from '../components/status-badge.tsx'
import { Ago, AtTime } from '../components/time.tsx'
import { lacksOwnRecord, recordsTitle } from '../connection.ts'
import { isWildcard, placeOf, withoutStar } from '../dns-names.ts'
import { usePageTitle } from '../page-title.ts'
import { queries } from '../queries.ts'
import type { DomainDetails } from '../records.ts'
import { useHostname, useSlug } from '../route-params.ts'
import { text } from '../strings.ts'
import { inBothForms } from '../unicode-name.ts'
import { NotFoundContent } from './not-found-page.tsx'

const words = text.domain

/** All about one domain: what to add, what was found, its certificate, its metadata, its end. */
export function DomainPage() {
  const slug = useSlug()
  const hostname = useHostname()
  const domain = useQuery(queries.domain(slug, hostname))
  const isRemoving = useIsRemoving(slug, hostname)
  usePageTitle(inBothForms(hostname))
  if (!isRemoving && domain.error instanceof ApiProblem && domain.error.status === 404) return <NotFoundContent />
  return (
    <>
      <Link to="/projects/$slug" params={{ slug }} className="rounded text-sm text-stone-600 hover:underline dark:text-stone-400">
        ← {words.back}
      </Link>
      {domain.data ? (
        <Details key={hostname} slug={slug} domain={domain.data} />
      ) : (
        <>
          <h1 className="mt-2 mb-6 text-xl font-semibold break-all">
            <Hostname name={hostname} />
          </h1>
          {domain.error ? <LoadProblem error={domain.error} onRetry={() => void domain.refetch()} /> : <Skeleton rows={3} height="h-48" />}
        </>
      )}
    </>
  )
}

function Details({ slug, domain }: { slug: string; domain: DomainDetails }) {
  return (
    <>
      <Head slug={slug} domain={domain} />
      <div className="grid grid-cols-1 gap-5">
        <DnsCard domain={domain} />
        <CertificateCard certificate={domain.certificate} />
        <MetadataEditor slug={slug} hostname={domain.hostname} metadataJson={domain.metadataJson} />
        <RemoveDomain slug={slug} hostname={domain.hostname} />
      </div>
    </>
  )
}

function Head({ slug, domain }: { slug: string; domain: DomainDetails }) {
  const client = useQueryClient()
  const [isLinking, setLinking] = useState(false)
  const check = useMutation({
    mutationFn: () => api.check(slug, domain.hostname),
    onSuccess(checked) {
      client.setQueryData(queries.domain(slug, domain.hostname).queryKey, (shown) => ({ ...shown!, ...checked }))
      toast(text.status.changed(inBothForms(checked.hostname), text.status.labels[checked.status]))
    },
    onError: (error) => toast(error.message),
  })
  const { checkedAt, nextCheckAt } = domain.dns
  return (
    <div className="mt-2 mb-6 flex flex-wrap items-start justify-between gap-4">
      <div className="min-w-0 [overflow-wrap:anywhere]">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <h1 className="text-xl font-semibold tracking-tight">
            <Hostname name={domain.hostname} />
          </h1>
          <StatusBadge status={domain.status} />
        </div>
        {isWildcard(domain.hostname) && (
          <p className="mt-1.5 text-sm text-stone-600 dark:text-stone-400">{words.wildcard(inBothForms(withoutStar(domain.hostname)))}</p>
        )}
        <p className="mt-1.5 text-sm text-stone-600 dark:text-stone-400">{text.status.meanings[domain.status]}</p>
        <p className="mt-1 text-sm text-stone-600 dark:text-stone-400">
          {checkedAt ? (
            <>
              {words.checked('')}
              <Ago at={checkedAt} />
            </>
          ) : (
            words.neverChecked
          )}
          {nextCheckAt && !domain.verified && Date.parse(nextCheckAt) > Date.now() + 60_000 && (
            <>
              {', '}
              {words.nextCheck('')}
              <Ago at={nextCheckAt} />
            </>
          )}
        </p>
      </div>
      <div className="flex flex-wrap gap-2">
        {domain.status === 'live' && !isWildcard(domain.hostname) && (
          <OuterLink href={`https://${domain.hostname}`}>{words.open}</OuterLink>
        )}
        <Button onClick={() => setLinking(true)}>{words.link}</Button>
        <Button look="primary" busy={check.isPending} onClick={() => check.mutate()}>
          {words.check}
        </Button>
      </div>
      {isLinking && <CustomerLink slug={slug} hostname={domain.hostname} onClose={() => setLinking(false)} />}
    </div>
  )
}

function DnsCard({ domain }: { domain: DomainDetails }) {
  const { dns } = domain
  const zone = domain.zone
  const isRight = dns.state === 'verified'
  const records = dns.expected
  const title = isRight ? words.doneTitle : words[recordsTitle(dns)]
  return (
    <>
      <Card title={title}>
        <Notice kind={isRight ? 'good' : domain.status === 'wrong-record' && !lacksOwnRecord(dns) ? 'bad' : 'plain'}>{dns.sentence}</Notice>
        {dns.warnings?.map(({ kind, sentence }) => (
          <Notice key={kind} kind="warning">
            {sentence}
          </Notice>
        ))}
        {isRight && domain.live.sentence && (
          <Notice
            kind={domain.status === 'live' ? 'warning' : 'plain'}
            title={domain.status === 'live' ? words.notSeenLive : words.notYetLive}
          >
            <p>{domain.live.sentence}</p>
            {domain.status === 'live' && <p className="mt-1">{words.notSeenLiveText}</p>}
          </Notice>
        )}
        {isRight ? (
          <Facts
            facts={[
              [words.verified, domain.verifiedAt && <AtTime key="verified" at={domain.verifiedAt} />],
              [words.added, <AtTime key="added" at={domain.createdAt} />],
              [words.seenLive, domain.live.seenAt && <AtTime key="live" at={domain.live.seenAt} />],
            ]}
          />
        ) : (
          <div className="grid gap-6 lg:grid-cols-2">
            <div className="min-w-0">
              <p className="mb-3 text-sm text-stone-600 dark:text-stone-400">
                {words.recordLead(inBothForms(placeOf(domain.hostname, zone).zone))}
              </p>
              <RecordsToAdd records={records} zone={zone} />
            </div>
            <div className="min-w-0">
              <ProviderSteps records={records} zone={zone} hint={domain.provider} />
            </div>
          </div>
        )}
      </Card>
      <DelegationCard domain={domain} />
      <Card title={words.comparisonTitle}>
        <Comparison found={dns.found} expected={dns.expected} />
      </Card>
    </>
  )
}
