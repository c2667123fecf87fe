import { createHash } from 'node:crypto'
import { connectUrl, findConnection } from '../core/connect-links.ts'
import type { Db } from '../core/db.ts'
import type { DnsDetails } from '../core/domain-details.ts'
import { findDomain } from '../core/domains.ts'
import { keepMail, type WrittenMail } from '../core/kept-mails.ts'
import type { LinkSigner } from '../core/link-signer.ts'
import { invitedRole, linkIsOpen, type Mail } from '../core/mail-jobs.ts'
import { holdsJob } from '../core/workers.ts'
import { ServiceError } from '../errors.ts'
import { type Hostname, isWildcard } from '../hostname.ts'
import type { Log } from '../log.ts'
import { dnsLetter } from './mail-dns-instructions.ts'
import { invitationLetter } from './mail-invitation.ts'
import { asHtml, asText, type Letter } from './mail-layout.ts'
import { signInLetter } from './mail-sign-in.ts'

const NAME_CHARACTERS = 40
const NOTHING_TO_CORRECT: readonly DnsDetails['state'][] = ['verified', 'absent', 'unknown', 'edge-host-broken', 'cname-target-broken']

/** What became of handing a mail over; `refused` is for good, so it is not tried again. */
export type Handover = { kind: 'sent' } | { kind: 'refused'; reason: string }

export type MailParts = {
  db: Db
  log: Log
  portalUrl: URL
  edgeHost: Hostname
  edgeIps: readonly string[]
  dnsZone?: Hostname | undefined
  signer: LinkSigner
  connectSigner: LinkSigner
  /**
   * Hands the mail to the mail server, and rejects when it may work later; undefined where mail is kept for `/inbox`. The same name makes the
   * same Message-ID, by which a receiver knows a mail that comes twice.
   */
  send: ((mail: WrittenMail, name: string) => Promise<Handover>) | undefined
}

/** The mail's place in the queue. `lockedBy` is the worker that works on it. */
export type MailJob = { id: string; createdAt: Date; lockedBy: string | null }

/**
 * Writes one mail and sends or keeps it. A link that has expired or, of a sign-in, was used is not sent any more, nor an invitation that was
 * withdrawn, nor a mail that another worker has taken over. A worker that dies between the mail server's answer and the end of the job leaves a mail
 * that goes out twice, both with one Message-ID.
 */
export async function deliverMail(parts: MailParts, payload: unknown, job: MailJob): Promise<void> {
  const mail = payload as Mail
  if (mail.kind === 'sign-in' && !(await linkIsOpen(parts.db, mail.linkId))) return
  const letter = await write(mail, parts)
  if (!letter) return
  const written = { to: mail.to, subject: letter.subject, text: asText(letter), html: asHtml(letter) }
  if (!parts.send) return keepMail(parts.db, written)
  if (job.lockedBy !== null && !(await holdsJob(parts.db, job.id, job.lockedBy))) return
  const handover = await parts.send(written, nameOf(job))
  if (handover.kind === 'refused') parts.log.warn({ mail: mail.kind, reason: handover.reason }, 'the mail server refuses a mail for good')
}

/** A number of the queue alone would come again after the database was restored. */
function nameOf({ id, createdAt }: MailJob): string {
  return createHash('sha256').update(`${id} ${createdAt.getTime()}`).digest('hex').slice(0, NAME_CHARACTERS)
}

async function write(mail: Mail, parts: MailParts): Promise<Letter | undefined> {
  const { portalUrl, signer, connectSigner } = parts
  switch (mail.kind) {
    case 'sign-in':
      return signInLetter(new URL(`/sign-in/confirm#token=${signer.tokenOf(mail.linkId)}`, portalUrl).href)
    case 'invitation': {
      const role = mail.projectId === undefined ? mail.role : await invitedRole(parts.db, mail.projectId, mail.to)
      return role && invitationLetter({ ...mail, role, url: new URL('/sign-in', portalUrl).href })
    }
    case 'dns-instructions': {
      const token = connectSigner.tokenOf(mail.linkId)
      const connection = await findConnection(parts.db, connectSigner, token).catch(unlessInvalid)
      if (!connection) return undefined
      const { dns } = await findDomain(parts.db, connection.project, connection.hostname, parts)
      const { project, hostname } = connection
      const url = connectUrl(portalUrl, token)
      // A wildcard gets no certificate without it.
      const further = isWildcard(hostname) && dns.delegation && dns.delegation.state !== 'present' ? [dns.delegation] : []
      const todo = [...correctionOf(dns), ...further.filter(({ state }) => state !== 'unknown').map(({ sentence }) => sentence)]
      const warnings = dns.warnings.map(({ sentence }) => sentence)
      const asked = { projectName: project.name, hostname, note: mail.note, url }
      return dnsLetter({ ...asked, todo, isRight: dns.state === 'verified', warnings, records: [...dns.expected, ...further] })
    }
  }
}

/** What is to be changed, where something is there and it is known what: who reads "add" would set a second record beside a wrong one. */
function correctionOf({ state, found, sentence }: DnsDetails): string[] {
  const leadsNowhere = state === 'unknown' && found.length > 0
  return NOTHING_TO_CORRECT.includes(state) && !leadsNowhere ? [] : [sentence]
}

function unlessInvalid(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.code !== 'connect_link_invalid') throw error
}
