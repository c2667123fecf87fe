import { inBothForms } from '../hostname.ts'
import { recordTypeShown } from '../lib/record-type.ts'
import type { Letter } from './mail-layout.ts'

/**
 * The mail to whoever manages a customer's DNS. `todo` says which records are to be added, changed or removed, as far as a check has found that out; else
 * `records`, which are to be there in the end, are to be added. `url` is the page that shows how it stands. `note` is a stranger's, and every line of it
 * is marked as such.
 */
export function dnsLetter(wanted: {
  projectName: string
  hostname: string
  todo: string[]
  records: { name: string; type: string; value: string }[]
  note: string | null
  url: string
}): Letter {
  const { projectName, hostname, todo, records, note, url } = wanted
  const those = records.length === 1 ? 'this DNS record' : 'these DNS records'
  const name = inBothForms(hostname)
  const place = `where the DNS of ${name} is managed`
  return {
    subject: `DNS record for ${name}`,
    heading: `Connect ${name} to ${projectName}`,
    paragraphs: [
      ...(note === null ? [] : ['Whoever had this mail sent writes:', quoted(note)]),
      ...(todo.length > 0
        ? [`Please do this ${place}:`, ...todo, `In the end ${those} should be there, and nothing in front of it (no proxy):`]
        : [
            `Please add ${those} ${place}, and nothing in front of it (no proxy).`,
            'If an A, AAAA or CNAME record of this name exists already, change that one instead of adding a second.',
          ]),
    ],
    records: records.map((record) => ({ ...record, type: recordTypeShown(record.type) })),
    button: { label: 'See whether it works', url },
    closing: ['You were named as the person who manages this DNS. If you do not, please pass this mail on.'],
  }
}

function quoted(note: string): string {
  return note
    .split(/\r\n|[\n\v\f\r\u0085\p{Zl}\p{Zp}]/u)
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')
}
