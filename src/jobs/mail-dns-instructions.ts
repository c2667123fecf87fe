import { inBothForms } from '../hostname.ts'
import { recordTypeShown } from '../lib/record-type.ts'
import type { Letter } from './mail-layout.ts'

type Instructions = {
  todo: string[]
  isRight: boolean
  warnings: string[]
  records: { name: string; type: string; value: string }[]
}

/**
 * The mail to whoever manages a customer's DNS. `todo` says which records are to be added, changed or removed, as far as a check has found that out; else
 * `records`, which are to be there in the end, are to be added, unless they are right already (`isRight`). `warnings` say what else is in the way. `url`
 * is the page that shows how it stands. `note` is a stranger's, and every line of it is marked as such.
 */
export function dnsLetter(wanted: Instructions & { projectName: string; hostname: string; note: string | null; url: string }): Letter {
  const { projectName, hostname, records, note, url } = wanted
  const name = inBothForms(hostname)
  return {
    subject: `DNS record for ${name}`,
    heading: `Connect ${name} to ${projectName}`,
    paragraphs: [
      ...(note === null ? [] : ['Whoever had this mail sent writes:', quoted(note)]),
      ...instructions(wanted, `where the DNS of ${name} is managed`),
    ],
    records: records.map((record) => ({ ...record, type: recordTypeShown(record.type) })),
    button: { label: 'See whether it works', url },
    closing: ['You were named as the person who manages this DNS. If you do not, please pass this mail on.'],
  }
}

/** What stands above the records. */
function instructions({ todo, isRight, warnings, records }: Instructions, place: string): string[] {
  const those = records.length === 1 ? 'this DNS record' : 'these DNS records'
  const inTheWay = (lead: string) => (warnings.length > 0 ? [lead, ...warnings] : [])
  if (todo.length > 0) {
    const inTheEnd = `In the end ${those} should be there, and nothing in front of it (no proxy):`
    return [`Please do this ${place}:`, ...todo, ...inTheWay('Something else is in the way as well:'), inTheEnd]
  }
  if (isRight && warnings.length > 0)
    return [...inTheWay('The record is right, but something else is in the way:'), `Nothing is to be changed about ${those}:`]
  return [
    ...inTheWay(`Beside ${those}, which you find below, something else is in the way:`),
    `Please add ${those} ${place}, and nothing in front of it (no proxy).`,
    'If an A, AAAA or CNAME record of this name exists already, change that one instead of adding a second.',
  ]
}

function quoted(note: string): string {
  return note
    .split(/\r\n|[\n\v\f\r\u0085\p{Zl}\p{Zp}]/u)
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')
}
