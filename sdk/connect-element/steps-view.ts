import { recordsToAdd, typeShown } from '../../portal/connection.ts'
import { placeOf } from '../../portal/dns-names.ts'
import { DNS_PROVIDERS, type DnsProvider, findProvider } from '../../portal/dns-providers.ts'
import type { Connect, DnsRecord } from '../../portal/records.ts'
import { inBothForms } from '../../portal/unicode-name.ts'
import { type Child, node, outerLink } from './nodes.ts'
import { type Copying, line } from './record-view.ts'
import type { Say } from './words.ts'

/** The choice of a DNS provider: '' for none yet, 'other' for one that has no steps of its own. `select` stays the same element: whoever types a name into it is not interrupted. */
export function drawChoice(select: HTMLSelectElement, say: Say): Child[] {
  const options = [
    { id: '', name: say('providerChoose') },
    ...DNS_PROVIDERS.map(({ id, name }) => ({ id, name })),
    { id: 'other', name: say('providerOther') },
  ].map(({ id, name }) => node('option', { value: id }, name))
  select.replaceChildren(...options)
  return [node('h3', {}, say('stepsTitle')), node('label', { for: select.id }, say('provider')), select]
}

/** Whether the choice was found out or made. */
export function drawHint({ provider }: Connect, chosen: string, say: Say): Child[] {
  const found = findProvider(provider?.id)
  const hint = found && found.id === chosen ? say('providerDetected', { provider: found.name }) : say('providerHint')
  return [node('p', { id: 'provider-hint', class: 'hint' }, hint)]
}

/** The way through the provider's own forms, in their words. */
export function drawSteps(connect: Connect, chosen: string, copying: Copying): Child[] {
  if (chosen === '') return []
  const { say } = copying
  const provider = findProvider(chosen)
  const { zone } = placeOf(connect.hostname, connect.zone)
  const isDomain = connect.hostname === zone // whose name other records have too
  const named = inBothForms(zone)
  const records = recordsToAdd(connect)
  const forms = records.map((record) => form(record, connect.zone, provider, copying))
  return [
    node(
      'ol',
      { part: 'steps', class: 'steps' },
      node('li', {}, provider ? say('stepOpen', { provider: provider.name, zone: named }) : say('otherOpen', { zone: named })),
      node('li', {}, provider ? say('stepPlace', { place: provider.place }) : say('otherPlace')),
      node(
        'li',
        {},
        provider ? say('stepAdd', { add: provider.add }) : say('otherAdd'),
        ...forms,
        provider?.aliasType === undefined &&
          records.some(({ type }) => type === 'ALIAS') &&
          node('p', { class: 'muted' }, say('aliasMissing')),
        node('p', { class: 'muted' }, say(isDomain ? 'replaceAtDomain' : 'replace')),
      ),
      provider?.note && node('li', { class: 'strong' }, say(`note.${provider.note}`)),
      node('li', {}, provider ? say('stepSave', { save: provider.save }) : say('otherSave')),
    ),
    provider && node('p', {}, outerLink(provider.url, say('providerOpen', { provider: provider.name }), say('newTab'), 'link')),
  ]
}

function form(record: DnsRecord, zone: string | null, provider: DnsProvider | undefined, copying: Copying): HTMLElement {
  const { say } = copying
  const { label } = placeOf(record.name, zone)
  const fields = provider?.fields ?? { type: say('type'), name: say('name'), value: say('value') }
  const wanted = label === '@' ? (provider?.apexName ?? '@') : provider?.nameStyle === 'full' ? record.name : label
  return node(
    'dl',
    { part: 'form', class: 'form' },
    line(fields.type, typeShown(record, provider?.aliasType ?? say('alias')), copying),
    line(fields.name, wanted, copying),
    line(record.type === 'CNAME' || record.type === 'ALIAS' ? fields.value : say('value'), record.value, copying),
  )
}
