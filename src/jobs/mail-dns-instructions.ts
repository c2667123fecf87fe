import type { Letter } from './mail-layout.ts'

/** The mail to whoever manages a customer's DNS. `url` is the page that shows how it stands. */
export function dnsLetter(wanted: {
  projectName: string
  hostname: string
  records: { name: string; type: string; value: string }[]
  note: string | null
  url: string
}): Letter {
  const { projectName, hostname, records, note, url } = wanted
  const those = records.length === 1 ? 'this DNS record' : 'these DNS records'
  return {
    subject: `DNS record for ${hostname}`,
    heading: `Connect ${hostname} to ${projectName}`,
    paragraphs: [
      ...(note === null ? [] : [note]),
      `Please add ${those} where the DNS of ${hostname} is managed, and nothing in front of it (no proxy).`,
    ],
    records,
    button: { label: 'See whether it works', url },
    closing: ['You were named as the person who manages this DNS. If you do not, please pass this mail on.'],
  }
}
