import { isWildcard } from '../dns-names.ts'
import type { Delegation, DomainDetails } from '../records.ts'
import { text } from '../strings.ts'
import { Card } from './card.tsx'
import { Notice } from './notice.tsx'
import { RecordsToAdd } from './record-cards.tsx'

const words = text.domain

/** The one more record by which certificates are issued before visitors come; a wildcard has none without it. Nothing where nothing is to be done. */
export function DelegationCard({ domain: { hostname, dns, zone, verified } }: { domain: DomainDetails }) {
  const { delegation } = dns
  const wildcard = isWildcard(hostname)
  if (!delegation || (verified && !wildcard)) return null
  const isThere = delegation.state === 'present'
  return (
    <Card title={wildcard ? words.wildcardDelegationTitle : words.delegationTitle}>
      {isThere ? (
        <Notice kind="good">{wildcard ? words.wildcardDelegationDone : delegation.sentence}</Notice>
      ) : (
        <>
          <p className="max-w-prose text-sm text-stone-600 dark:text-stone-400">
            {wildcard ? words.wildcardDelegationText : words.delegationText}
          </p>
          <DelegationSentence delegation={delegation} />
          <RecordsToAdd records={[delegation]} zone={zone} />
        </>
      )}
    </Card>
  )
}

/** What is to be done about a record that is not there, and what to mind; nothing before anybody has looked. */
export function DelegationSentence({ delegation: { state, sentence } }: { delegation: Delegation }) {
  return state === 'unknown' ? null : <Notice kind={state === 'elsewhere' ? 'warning' : 'plain'}>{sentence}</Notice>
}
