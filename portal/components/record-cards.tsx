import { typeShown } from '../connection.ts'
import { placeOf } from '../dns-names.ts'
import type { DnsRecord } from '../records.ts'
import { text } from '../strings.ts'
import { CopyButton } from './copy-button.tsx'
import { Dotted } from './dotted.tsx'

const words = text.domain

/** The records to add, each field with its copy button: the short name that most forms want, and the whole one that some want. */
export function RecordsToAdd({ records, zone }: { records: readonly DnsRecord[]; zone: string | null | undefined }) {
  return (
    <div className="grid gap-3">
      {records.map((record) => {
        const { label } = placeOf(record.name, zone)
        return (
          <dl
            key={`${record.type} ${record.name} ${record.value}`}
            className="divide-y divide-stone-200 rounded-xl border border-stone-300 dark:divide-stone-700 dark:border-stone-700"
          >
            <Line name={words.record.type} value={typeShown(record, words.record.alias)} isCopied={record.type !== 'ALIAS'} />
            <Line name={words.record.name} value={label} full={record.name} />
            <Line name={words.record.value} value={record.value} />
          </dl>
        )
      })}
    </div>
  )
}

/** Two names for one type are for the eye: no form takes them both. */
function Line({ name, value, full, isCopied = true }: { name: string; value: string; full?: string; isCopied?: boolean }) {
  return (
    <div className="flex min-h-12 flex-wrap items-center gap-x-3 py-1.5 pr-2 pl-4">
      <dt className="w-14 shrink-0 text-sm text-stone-600 dark:text-stone-400">{name}</dt>
      <dd className="grid min-w-0 flex-1 basis-52 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-2 gap-y-1">
        <span className="font-mono text-sm font-medium [overflow-wrap:anywhere]">
          <Dotted>{value}</Dotted>
        </span>
        {isCopied && <CopyButton value={value} what={name} />}
        {full && (
          <>
            <span className="text-xs [overflow-wrap:anywhere] text-stone-600 dark:text-stone-400">{words.fullName(full)}</span>
            <CopyButton value={full} what={words.nameInFull} look="quiet" />
          </>
        )}
      </dd>
    </div>
  )
}

/** What the DNS holds beside what it should hold; what is found is in the order in which it was followed. */
export function Comparison({ found, expected }: { found: readonly DnsRecord[]; expected: readonly DnsRecord[] }) {
  const isExpected = (record: DnsRecord) =>
    expected.some(({ name, type, value }) => name === record.name && type === record.type && value === record.value)
  return (
    <div className="grid gap-4 md:grid-cols-2">
      <Side title={words.foundTitle}>
        {found.length === 0 && <li className="px-4 py-3 text-sm text-stone-600 dark:text-stone-400">{words.nothingFound}</li>}
        {found.map((record, n) => (
          <Found
            key={`${record.type} ${record.name} ${record.value}`}
            record={record}
            hop={n + 1}
            mark={isExpected(record) ? 'right' : 'other'}
          />
        ))}
      </Side>
      <Side title={words.expectedTitle}>
        {expected.map((record) => (
          <Found
            key={`${record.type} ${record.name} ${record.value}`}
            record={record}
            mark={
              found.some((one) => one.name === record.name && one.type === record.type && one.value === record.value) ? 'right' : 'other'
            }
          />
        ))}
      </Side>
    </div>
  )
}

function Side({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <div className="min-w-0">
      <h3 className="mb-2 text-sm font-medium text-stone-600 dark:text-stone-400">{title}</h3>
      <ol className="divide-y divide-stone-200 rounded-xl border border-stone-200 dark:divide-stone-800 dark:border-stone-800">
        {children}
      </ol>
    </div>
  )
}

function Found({ record, hop, mark }: { record: DnsRecord; hop?: number; mark: 'right' | 'other' }) {
  return (
    <li className="flex gap-3 px-4 py-2.5 text-sm">
      {hop !== undefined && <span className="text-stone-600 tabular-nums dark:text-stone-400">{hop}</span>}
      <span className="min-w-0 flex-1 font-mono text-[13px] leading-relaxed [overflow-wrap:anywhere]">
        <span className="text-stone-600 dark:text-stone-400">
          <Dotted>{record.name}</Dotted>
        </span>{' '}
        <span className="font-semibold">{typeShown(record, words.record.alias)}</span>{' '}
        <span className={mark === 'right' ? 'font-medium text-emerald-800 dark:text-emerald-300' : ''}>
          <Dotted>{record.value}</Dotted>
        </span>
      </span>
      {mark === 'right' && (
        <span role="img" aria-label={text.domain.match} className="text-emerald-700 dark:text-emerald-400">
          ✓
        </span>
      )}
    </li>
  )
}
