import { createTransport } from 'nodemailer'
import type { WrittenMail } from '../core/kept-mails.ts'
import type { Handover } from './mail.ts'

const CONNECT_TIMEOUT_MS = 10_000
const SILENCE_MAX_MS = 30_000
/** What is refused here is the recipient or the message. Before that it is us, as whom we sign in or send: the operator's to mend, and all mails would be lost until then. */
const OF_THIS_MAIL: ReadonlySet<string> = new Set(['RCPT TO', 'DATA'])

/** Sends mail by SMTP. What the server says is not handed on in full: it may repeat the address. */
export function createMailServer(
  smtpUrl: string,
  from: string,
): { send(mail: WrittenMail, name: string): Promise<Handover>; close(): void } {
  const domain = /@([^\s>]+)/.exec(from)?.[1] ?? 'namesake.invalid'
  const transport = createTransport(
    {
      url: smtpUrl,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      greetingTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_MAX_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from, headers: { 'Auto-Submitted': 'auto-generated' } }, // RFC 3834: no holiday notices in return
  )
  return {
    async send(mail, name) {
      try {
        await transport.sendMail({ ...mail, messageId: `<${name}@${domain}>`, to: { name: '', address: mail.to } })
        return { kind: 'sent' }
      } catch (error) {
        const { code = 'unknown', responseCode, command } = error as { code?: string; responseCode?: number; command?: string }
        const reason = [code, responseCode, command].filter((part) => part !== undefined).join(' ')
        // RFC 5321 §4.2.1: 5yz is for good.
        if (responseCode !== undefined && responseCode >= 500 && command !== undefined && OF_THIS_MAIL.has(command))
          return { kind: 'refused', reason }
        throw new Error(`the mail server did not take a mail (${reason})`)
      }
    },
    close: () => transport.close(),
  }
}
