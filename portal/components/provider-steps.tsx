import { useState } from 'react'
import { typeShown } from '../connection.ts'
import { placeOf } from '../dns-names.ts'
import { DNS_PROVIDERS, type DnsProvider, findProvider } from '../dns-providers.ts'
import type { DnsRecord, ProviderHint } from '../records.ts'
import { text } from '../strings.ts'
import { inBothForms } from '../unicode-name.ts'
import { OuterLink } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { Dotted } from './dotted.tsx'
import { Select } from './field.tsx'

const words = text.providers

type Props = { records: readonly DnsRecord[]; zone: string | null | undefined; hint: ProviderHint | null | undefined; label?: string }

/** The way through the customer's own DNS provider, in the words of its forms: known by the name servers, else chosen. */
export function ProviderSteps({ records, zone, hint, label = words.label }: Props) {
  const [chosen, setChosen] = useState<string>()
  const id = chosen ?? findProvider(hint?.id)?.id ?? ''
  const provider = findProvider(id)
  const domain = placeOf(records[0]?.name ?? '', zone).zone
  return (
    <div className="grid grid-cols-1 gap-4">
      <Select
        label={label}
        hint={provider && provider.id === hint?.id ? words.detected(provider.name) : words.hint}
        value={id}
        onChange={(event) => setChosen(event.target.value)}
      >
        <option value="">{words.choose}</option>
        {DNS_PROVIDERS.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
        <option value="other">{words.other}</option>
      </Select>
      {id !== '' && <Steps provider={provider} records={records} zone={zone} domain={domain} />}
    </div>
  )
}

type StepsProps = { provider: DnsProvider | undefined; records: readonly DnsRecord[]; zone: string | null | undefined; domain: string }

function Steps({ provider, records, zone, domain }: StepsProps) {
  const isDomain = records[0]?.name === domain // whose name other records have too
  const named = inBothForms(domain)
  return (
    <>
      <ol className="grid list-decimal grid-cols-1 gap-3 pl-5 text-sm leading-relaxed marker:text-stone-600 dark:marker:text-stone-400">
        <li>{provider ? words.steps.open(provider.name, named) : words.generic.open(named)}</li>
        <li>{provider ? words.steps.place(provider.place) : words.generic.place}</li>
        <li>
          {provider ? words.steps.add(provider.add) : words.generic.add}
          {records.map((record) => (
            <Form key={`${record.type} ${record.name} ${record.value}`} provider={provider} record={record} zone={zone} />
          ))}
          {provider?.aliasType === undefined && records.some(({ type }) => type === 'ALIAS') && (
            <p className="mt-2 text-stone-600 dark:text-stone-400">{words.aliasMissing}</p>
          )}
          <p className="mt-2 text-stone-600 dark:text-stone-400">{isDomain ? words.replaceAtDomain : words.replace}</p>
        </li>
        {provider?.note && <li className="font-medium">{words.notes[provider.note]}</li>}
        <li>{provider ? words.steps.save(provider.save) : words.generic.save}</li>
      </ol>
      {provider && (
        <div>
          <OuterLink href={provider.url}>{words.open(provider.name)}</OuterLink>
        </div>
      )}
    </>
  )
}

function Form({ provider, record, zone }: { provider: DnsProvider | undefined; record: DnsRecord; zone: string | null | undefined }) {
  const { label } = placeOf(record.name, zone)
  const fields = provider?.fields ?? text.domain.record
  const wanted = label === '@' ? (provider?.apexName ?? '@') : provider?.nameStyle === 'full' ? record.name : label
  const isAlias = record.type === 'CNAME' || record.type === 'ALIAS' || provider === undefined
  return (
    <dl className="mt-2 grid grid-cols-1 gap-1 rounded-lg bg-stone-100 p-3 dark:bg-stone-950">
      <Entry name={fields.type} value={typeShown(record, provider?.aliasType ?? text.domain.record.alias)} />
      <Entry name={fields.name} value={wanted} isCopied />
      <Entry name={isAlias ? fields.value : text.domain.record.value} value={record.value} isCopied />
    </dl>
  )
}

function Entry({ name, value, isCopied = false }: { name: string; value: string; isCopied?: boolean }) {
  return (
    <div className="flex min-h-8 flex-wrap items-center gap-x-3">
      <dt className="w-28 shrink-0 break-words text-stone-600 dark:text-stone-400">{name}</dt>
      <dd className="flex min-w-0 flex-1 basis-44 items-center gap-2">
        <span className="min-w-0 flex-1 font-mono [overflow-wrap:anywhere]">
          <Dotted>{value === '' ? text.providers.emptyName : value}</Dotted>
        </span>
        {isCopied && value !== '' && <CopyButton value={value} what={name} look="quiet" />}
      </dd>
    </div>
  )
}
