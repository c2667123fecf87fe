import { createOnce } from '../lib/once.ts'
import { readUrl } from './acme-answers.ts'
import { type AcmeSession, untilAborted } from './acme-session.ts'
import { type AccountKey, bindExternalAccount, type ExternalAccount } from './jws.ts'
import { blameAccount } from './problem.ts'

/** The account that belongs to a key: found, or made when first needed. Concurrent orders share one look. */
export type AcmeAccount = {
  /** The account's URL, which signs as `kid`. Rejects with IssueError; a failure is not remembered. */
  url(signal: AbortSignal): Promise<string>
  /** The authority no longer knows this account: the next look makes it again. */
  forget(url: string): void
}

export type AccountSettings = { key: AccountKey; email?: string; eab?: ExternalAccount }

export function createAcmeAccount(session: AcmeSession, settings: AccountSettings): AcmeAccount {
  const once = createOnce<'account', string>()
  let known: string | undefined
  return {
    async url(signal) {
      known ??= await untilAborted(
        once('account', () => findOrCreate(session, settings).catch(blameAccount)),
        signal,
      )
      return known
    },
    forget(url) {
      if (known === url) known = undefined
    },
  }
}

/** RFC 8555 §7.3: newAccount answers 201 for a new key, and 200 with the account as it is for a known one. */
async function findOrCreate(session: AcmeSession, { key, email, eab }: AccountSettings): Promise<string> {
  const { newAccount } = await session.directory()
  const contact = email === undefined ? [] : [`mailto:${email}`]
  const payload = {
    termsOfServiceAgreed: true,
    contact,
    ...(eab && { externalAccountBinding: bindExternalAccount(key, eab, newAccount) }),
  }
  const answer = await session.post({ url: newAccount, payload })
  const account = readUrl(answer.location, 'the Location of the account')
  if (answer.status === 200 && email !== undefined && !contactsOf(answer.body).includes(contact[0])) {
    await session.post({ url: account, account, payload: { contact } })
  }
  return account
}

function contactsOf(account: unknown): unknown[] {
  const contacts = (account as { contact?: unknown } | undefined)?.contact
  return Array.isArray(contacts) ? contacts : []
}
