import type { Certificate } from '../records.ts'
import { sentenceOf } from '../sentence.ts'
import { text, withLocalTimes } from '../strings.ts'
import { Card, Facts } from './card.tsx'
import { Notice } from './notice.tsx'
import { Badge } from './status-badge.tsx'
import { AtTime } from './time.tsx'

const words = text.domain.certificate

const LOOKS = {
  none: '',
  pending: 'bg-sky-100 text-sky-900 dark:bg-sky-950 dark:text-sky-200',
  issued: 'bg-emerald-100 text-emerald-900 dark:bg-emerald-950 dark:text-emerald-200',
  failed: 'bg-rose-100 text-rose-900 dark:bg-rose-950 dark:text-rose-200',
}

/** How the certificate stands: its dates, its renewal, and in case of trouble the authority's own words and the next attempt. */
export function CertificateCard({ certificate: c }: { certificate: Certificate }) {
  const says = text.domain.certificateStates[c.state]
  const isShort = c.state === 'issued' || c.state === 'failed'
  return (
    <Card title={text.domain.certificateTitle} aside={isShort && <Badge className={LOOKS[c.state]}>{says}</Badge>}>
      {!isShort && <p className="text-sm text-stone-600 dark:text-stone-400">{says}</p>}
      {c.lastError && (
        <Notice kind={c.state === 'issued' ? 'warning' : 'bad'}>
          <p>{sentenceOf(c.lastError.sentence)}</p>
          <details className="mt-2">
            <summary className="cursor-pointer rounded">
              {isOurs(c.lastError.problem) ? text.domain.ownProblem : text.domain.problem}
            </summary>
            <pre className="mt-2 overflow-x-auto font-mono text-xs whitespace-pre-wrap">{JSON.stringify(c.lastError.problem, null, 2)}</pre>
          </details>
        </Notice>
      )}
      {c.nextIssuanceReason && <Notice kind="warning">{withLocalTimes(c.nextIssuanceReason)}</Notice>}
      {c.state !== 'none' && (
        <Facts
          facts={[
            [words.issuer, c.issuer],
            [words.origin, c.origin && words.origins[c.origin]],
            [words.notBefore, at(c.notBefore)],
            [words.notAfter, at(c.notAfter)],
            [c.origin === 'imported' ? words.replaceBy : words.renewAt, at(c.renewAt)],
            [words.serial, c.serial && <code className="font-mono text-xs break-all">{c.serial}</code>],
            [words.attempts, c.attempts > 0 ? String(c.attempts) : null],
            [words.lastAttemptAt, at(c.lastAttemptAt)],
            [words.nextAttemptAt, at(c.nextAttemptAt)],
            [words.nextIssuanceAt, at(c.nextIssuanceAt)],
          ]}
        />
      )}
      {c.renewal && (
        <p className={`text-sm ${c.renewal.plan === 'stopped' ? 'font-medium' : 'text-stone-600 dark:text-stone-400'}`}>
          {withLocalTimes(c.renewal.sentence)}{' '}
          {c.renewal.explanationUrl?.startsWith('https://') && (
            <a href={c.renewal.explanationUrl} rel="noreferrer" className="underline">
              {words.explanation}
            </a>
          )}
        </p>
      )}
    </Card>
  )
}

/** Whether we found it ourselves, and the authority said nothing. */
function isOurs(problem: { type?: unknown }): boolean {
  return String(problem.type).startsWith('urn:namesake:')
}

function at(time: string | null) {
  return time && <AtTime at={time} />
}
