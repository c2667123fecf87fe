import { connectUrl, findConnection } from '../core/connect-links.ts'
import type { Db } from '../core/db.ts'
import { findDomain } from '../core/domains.ts'
import { keepMail, type WrittenMail } from '../core/kept-mails.ts'
import type { LinkSigner } from '../core/link-signer.ts'
import { linkIsOpen, type Mail } from '../core/mail-jobs.ts'
import { ServiceError } from '../errors.ts'
import { type Hostname, isWildcard } from '../hostname.ts'
import type { Log } from '../log.ts'
import { dnsLetter } from './mail-dns-instructions.ts'
import { invitationLetter } from './mail-invitation.ts'
import { asHtml, asText, type Letter } from './mail-layout.ts'
import { signInLetter } from './mail-sign-in.ts'

/** What became of handing a mail over; `refused` is for good, so it is not tried again. */
export type Handover = { kind: 'sent' } | { kind: 'refused'; reason: string }

export type MailParts = {
  db: Db
  log: Log
  portalUrl: URL
  edgeHost: Hostname
  dnsZone?: Hostname | undefined
  signer: LinkSigner
  connectSigner: LinkSigner
  /** Hands the mail to the mail server, and rejects when it may work later; undefined where mail is kept for `/inbox`. */
  send: ((mail: WrittenMail) => Promise<Handover>) | undefined
}

/** Writes one mail and sends or keeps it. A link that has expired or, of a sign-in, was used is not sent any more. */
export async function deliverMail(parts: MailParts, payload: unknown): Promise<void> {
  const mail = payload as Mail
  if (mail.kind === 'sign-in' && !(await linkIsOpen(parts.db, mail.linkId))) return
  const letter = await write(mail, parts)
  if (!letter) return
  const written = { to: mail.to, subject: letter.subject, text: asText(letter), html: asHtml(letter) }
  if (!parts.send) return keepMail(parts.db, written)
  const handover = await parts.send(written)
  if (handover.kind === 'refused') parts.log.warn({ mail: mail.kind, reason: handover.reason }, 'the mail server refuses a mail for good')
}

async function write(mail: Mail, parts: MailParts): Promise<Letter | undefined> {
  const { portalUrl, signer, connectSigner } = parts
  switch (mail.kind) {
    case 'sign-in':
      return signInLetter(new URL(`/sign-in/confirm#token=${signer.tokenOf(mail.linkId)}`, portalUrl).href)
    case 'invitation':
      return invitationLetter({ ...mail, url: new URL('/sign-in', portalUrl).href })
    case 'dns-instructions': {
      const token = connectSigner.tokenOf(mail.linkId)
      const connection = await findConnection(parts.db, connectSigner, token).catch(unlessInvalid)
      if (!connection) return undefined
      const { dns } = await findDomain(parts.db, connection.project, connection.hostname, parts.edgeHost, parts.dnsZone)
      const { project, hostname } = connection
      const url = connectUrl(portalUrl, token)
      // A wildcard gets no certificate without it.
      const further = isWildcard(hostname) && dns.delegation && dns.delegation.state !== 'present' ? [dns.delegation] : []
      return dnsLetter({ projectName: project.name, hostname, records: [...dns.expected, ...further], note: mail.note, url })
    }
  }
}

function unlessInvalid(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.code !== 'connect_link_invalid') throw error
}
