import { createTransport } from 'nodemailer'
import type { WrittenMail } from '../core/kept-mails.ts'
import { connectionTrouble } from '../lib/connection-trouble.ts'
import type { Handover } from './mail.ts'

const CONNECT_TIMEOUT_MS = 10_000
const SILENCE_MAX_MS = 30_000
const TRY_TIMEOUT_MS = 5_000
/** What is refused here is the recipient or the message. Before that it is us, as whom we sign in or send: the operator's to mend, and all mails would be lost until then. */
const OF_THIS_MAIL: ReadonlySet<string> = new Set(['RCPT TO', 'DATA'])

/** Sends mail by SMTP. What the server says is not handed on in full: it may repeat the address. */
export function createMailServer(
  smtpUrl: string,
  from: string,
): { send(mail: WrittenMail, name: string): Promise<Handover>; close(): void } {
  const domain = /@([^\s>]+)/.exec(from)?.[1] ?? 'namesake.invalid'
  const transport = createTransport(
    { ...connectionTo(smtpUrl, CONNECT_TIMEOUT_MS, SILENCE_MAX_MS), disableFileAccess: true, disableUrlAccess: true },
    { from, headers: { 'Auto-Submitted': 'auto-generated' } }, // RFC 3834: no holiday notices in return
  )
  return {
    async send(mail, name) {
      try {
        await transport.sendMail({ ...mail, messageId: `<${name}@${domain}>`, to: { name: '', address: mail.to } })
        return { kind: 'sent' }
      } catch (error) {
        const { responseCode, command } = error as Failure
        const reason = reasonOf(error as Failure)
        // RFC 5321 §4.2.1: 5yz is for good.
        if (responseCode !== undefined && responseCode >= 500 && command !== undefined && OF_THIS_MAIL.has(command))
          return { kind: 'refused', reason }
        throw new Error(`the mail server ${placeOf(smtpUrl)} (NAMESAKE_SMTP_URL) did not take a mail: ${reason}`)
      }
    },
    close: () => transport.close(),
  }
}

/** Connects and signs in, and sends nothing. `place` is the server's host and port, `trouble` why that failed. */
export async function tryMailServer(smtpUrl: string): Promise<{ place: string; trouble?: string }> {
  const transport = createTransport(connectionTo(smtpUrl, TRY_TIMEOUT_MS, TRY_TIMEOUT_MS))
  const place = placeOf(smtpUrl)
  try {
    await transport.verify()
    return { place }
  } catch (error) {
    return { place, trouble: reasonOf(error as Failure) }
  } finally {
    transport.close()
  }
}

function connectionTo(url: string, connectTimeoutMs: number, silenceMaxMs: number) {
  return { url, connectionTimeout: connectTimeoutMs, greetingTimeout: connectTimeoutMs, socketTimeout: silenceMaxMs }
}

/** Without user and password. */
function placeOf(smtpUrl: string): string {
  const { protocol, hostname, port } = new URL(smtpUrl)
  return `${hostname}:${port || (protocol === 'smtps:' ? 465 : 587)}`
}

/** What the mail library throws: it puts a code of its own in the place of the system's or TLS's, which it keeps. */
type Failure = Error & { code?: string; originalCode?: string; responseCode?: number; command?: string }

/** Of a connection in words; of an answer its number, and what it was to. */
function reasonOf({ code = 'unknown', originalCode, responseCode, command, message }: Failure): string {
  const cause = originalCode ?? code
  const trouble = connectionTrouble(cause)
  if (trouble !== undefined) return `${trouble} (${cause})`
  return originalCode === undefined ? [code, responseCode, command].filter((part) => part !== undefined).join(' ') : message
}
