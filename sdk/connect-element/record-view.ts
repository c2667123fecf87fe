import { certificateRecord, recordsTitle, recordsToAdd, typeShown } from '../../portal/connection.ts'
import { placeOf } from '../../portal/dns-names.ts'
import type { Connect, DnsRecord } from '../../portal/records.ts'
import { inBothForms } from '../../portal/unicode-name.ts'
import { type Child, node } from './nodes.ts'
import type { Say } from './words.ts'

const COPIED_MS = 2_000

export type Copying = { say: Say; announce(sentence: string): void }

/** The records to add, each field with its copy button: the short name that most forms want, and the whole one that some want. */
export function drawRecords(connect: Connect, copying: Copying): Child[] {
  const { say } = copying
  const records = recordsToAdd(connect)
  const lines = (record: DnsRecord) => [
    line(say('type'), typeShown(record, say('alias')), copying),
    line(say('name'), placeOf(record.name, connect.zone).label, copying, record.name),
    line(say('value'), record.value, copying),
  ]
  return [
    node('h3', {}, say(recordsTitle(connect.dns, certificateRecord(connect)))),
    node('p', { class: 'muted' }, say('recordLead', { zone: inBothForms(placeOf(connect.hostname, connect.zone).zone) })),
    ...records.map((record) => node('dl', { part: 'record', class: 'record' }, ...lines(record))),
  ]
}

/** A field of a record under the name that a form gives it. `full`: the whole name of which the value is the short one. */
export function line(label: string, value: string, copying: Copying, full?: string): HTMLElement {
  const shown = node('span', { part: 'value', class: 'value' }, value || copying.say('emptyName'))
  const isCopied = value !== '' && value !== copying.say('alias') // two names for one type, which no form takes both
  return node(
    'div',
    { part: 'field', class: 'field' },
    node('dt', {}, label),
    node('dd', {}, shown, isCopied && copyButton(label, value, shown, copying), ...(full ? fullName(full, copying) : [])),
  )
}

function fullName(name: string, copying: Copying): HTMLElement[] {
  const [before = '', behind = ''] = copying.say('fullName').split('{name}')
  const shown = node('span', {}, name)
  return [node('span', { class: 'hint' }, before, shown, behind), copyButton(copying.say('nameInFull'), name, shown, copying)]
}

function copyButton(label: string, value: string, shown: HTMLElement, { say, announce }: Copying): HTMLElement {
  const button = node(
    'button',
    { type: 'button', part: 'button copy', class: 'small', 'aria-label': say('copyOf', { what: label }) },
    say('copy'),
  )
  button.addEventListener('click', () => {
    void copy(value).then((isCopied) => {
      if (!isCopied) return select(shown)
      announce(say('copied'))
      button.textContent = say('copied')
      setTimeout(() => {
        button.textContent = say('copy')
      }, COPIED_MS)
    })
  })
  return button
}

/** The clipboard exists on https and on localhost alone, and a frame may not be allowed to use it. */
async function copy(value: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value)
    return true
  } catch {
    return false
  }
}

function select(shown: HTMLElement): void {
  getSelection()?.selectAllChildren(shown)
}
