import { certificateRecord, hindranceOf, lacksOwnRecord } from '../../portal/connection.ts'
import type { Connect } from '../../portal/records.ts'
import type { Trouble } from './link.ts'

/**
 * Every sentence and label that the element shows, with `{placeholders}`. A page overrides any of them, for another language or another tone.
 * `busy` and `found.<state>` are not here: without one, the API's own sentence says how long to wait, or what was found.
 */
export const ENGLISH = {
  heading: 'Connect {hostname}',
  inDns: 'in the DNS: {hostname}',
  lead: 'One change in your DNS settings, and {vendor} answers at your own address.',
  loading: 'Loading…',
  recordTitle: 'The record to add',
  recordsTitle: 'The records to add',
  correctRecordTitle: 'The record as it should be',
  correctRecordsTitle: 'The records as they should be',
  recordLead: 'In the DNS of {zone}:',
  type: 'Type',
  name: 'Name',
  value: 'Value',
  alias: 'ALIAS or ANAME',
  fullName: 'in full: {name}',
  nameInFull: 'the name in full',
  copy: 'Copy',
  copyOf: 'Copy {what}',
  copied: 'Copied',
  stepsTitle: 'How to enter it',
  provider: 'Who manages the DNS of your domain?',
  providerDetected: 'Recognised by its name servers: {provider}',
  providerHint: 'Where the domain was bought, in most cases.',
  providerChoose: 'Choose your provider to see its steps',
  providerOther: 'Another provider',
  providerOpen: 'Open {provider}',
  stepOpen: 'Sign in to {provider} and choose the domain {zone}.',
  stepPlace: 'Open “{place}”.',
  stepAdd: 'Press “{add}” and fill in:',
  stepSave: 'Press “{save}”. Then come back: this page notices by itself, mostly within minutes.',
  otherOpen: 'Sign in where the DNS of {zone} is managed. In most cases that is where the domain was bought.',
  otherPlace: 'Find the DNS records. They may be called “DNS settings”, “DNS zone” or “Advanced DNS”.',
  otherAdd: 'Add a new record and fill in:',
  otherSave: 'Save it. Then come back: this page notices by itself, mostly within minutes.',
  aliasMissing:
    'If the form offers neither ALIAS nor ANAME, this provider cannot connect the domain itself. A name such as www can be connected in its place.',
  replace: 'If a record of this name exists already, change that one instead of adding a second.',
  replaceAtDomain:
    'If there are A, AAAA or CNAME records of this name already, change those, and remove what is left over. Leave all others, such as MX and TXT, as they are: mail depends on them.',
  emptyName: '(leave empty)',
  'note.proxy-off': 'Set “Proxy status” to “DNS only”: the cloud must be grey.',
  'note.no-redirect': 'Remove a “URL Redirect Record” or parking record of the same host, if there is one.',
  'note.final-dot': 'If the form shows a dot at the end of the value, leave the dot there.',
  'note.simple-routing': 'Leave “Alias” switched off and the routing policy at “Simple routing”.',
  'note.advanced-dns': 'Use the advanced DNS view.',
  'note.alias-apex': 'Remove the parking records of the same host, if there are any.',
  now: 'Right now',
  check: 'Check now',
  checking: 'Checking…',
  waitingTitle: 'We do not see the record yet',
  waitingText: 'After you add it, it can take some minutes to show here.',
  wrongTitle: 'Almost: one thing to correct',
  proofTitle: 'Almost: one more record',
  twoMoreTitle: 'Almost: two more records',
  disagreeTitle: 'Your record is not everywhere yet',
  notYoursTitle: 'Your record is right',
  unknownTitle: 'We do not know yet',
  watching: 'This page looks by itself and shows when it works.',
  verifiedTitle: 'Your record is right',
  verifiedText: 'We are preparing the secure connection. This takes a minute or two, and you need not wait for it.',
  failedText:
    'Your record is right, and there is nothing for you to do. The secure connection takes longer than usual; we try again by itself.',
  liveTitle: 'It works',
  liveText: 'Your address is connected to {vendor}. Nothing more is to be done: the certificate is renewed by itself.',
  hinderedTitle: 'Almost: something is in the way',
  hinderedText:
    'Your record is right, but something else in DNS is in the way of a secure connection for all of your visitors. What it is, and what to do, stands below.',
  hinderedMailText: 'Visitors find your address, but mail to your domain can get lost. What to change stands below.',
  open: 'Open https://{hostname}',
  newTab: '(opens in a new tab)',
  expires: 'This link works until {date}.',
  endedTitle: 'This link has ended',
  endedText: 'It is older than 30 days, the address was removed, or twenty newer links were made. Ask whoever sent it for a new one.',
  incompleteTitle: 'This link is incomplete',
  incompleteText: 'Copy all of it, or ask whoever sent it for a new one.',
  problemTitle: 'This could not be loaded',
  unreachable: 'The service did not answer. It is asked again by itself.',
  retry: 'Try again',
}

export type WordKey = keyof typeof ENGLISH
/** What the API says itself unless the page does. */
type OwnKey = 'busy' | `found.${string}`
export type Strings = Partial<Record<WordKey | OwnKey, string>>
/** Says a sentence of the catalogue with its placeholders filled; undefined where a page may have one and has none. */
export type Say = {
  (key: WordKey, filled?: Record<string, string>): string
  (key: OwnKey, filled?: Record<string, string>): string | undefined
  /** Differs when the sentences do. */
  readonly language: string
}

const FINDING_TITLES: Readonly<Record<string, WordKey>> = {
  'proof-needed': 'proofTitle',
  'servers-disagree': 'disagreeTitle',
  'edge-host-broken': 'notYoursTitle',
  'cname-target-broken': 'notYoursTitle',
  unknown: 'unknownTitle',
}

/** What stands over the sentence of what was found, while something is to be done or waited for: of a wildcard also the record for its certificate. */
export function findingTitle(connect: Connect): WordKey {
  const { status, dns } = connect
  if (lacksOwnRecord(dns)) return dns.state === 'proof-needed' ? 'twoMoreTitle' : 'waitingTitle'
  if (status === 'wrong-record' && dns.state !== 'cname-target-broken') return 'wrongTitle'
  if (dns.state === 'verified') return certificateRecord(connect) ? 'proofTitle' : 'verifiedTitle'
  return FINDING_TITLES[dns.state] ?? 'waitingTitle'
}

/** What something else in the DNS is in the way of, though the record is right; undefined where nothing is. */
export function hinderedKey(connect: Connect): WordKey | undefined {
  const hindrance = hindranceOf(connect)
  return hindrance && (hindrance === 'mail' ? 'hinderedMailText' : 'hinderedText')
}

/** What stands over the end of the customer's part, and over what is in the way of it. */
export function endTitle(connect: Connect): WordKey {
  if (hindranceOf(connect)) return 'hinderedTitle'
  return connect.status === 'live' ? 'liveTitle' : 'verifiedTitle'
}

/** Why there is no answer, and what to do. */
export function explain(trouble: Trouble, say: Say): string {
  return trouble.kind === 'busy' ? (say('busy') ?? trouble.sentence) : say('unreachable')
}

export function createSay(overrides: Strings): Say {
  const own = new Map<string, unknown>(Object.entries(overrides))
  const english = new Map<string, string>(Object.entries(ENGLISH))
  const say = (key: string, filled: Record<string, string> = {}) => {
    const wanted = own.get(key)
    const sentence = typeof wanted === 'string' ? wanted : english.get(key)
    return sentence?.replace(/\{(\w+)\}/g, (whole, name: string) => filled[name] ?? whole)
  }
  return Object.assign(say, { language: JSON.stringify(overrides) }) as Say
}
