import { createOnce } from '../lib/once.ts'
import { readUrl } from './acme-answers.ts'
import type { HttpAnswer } from './acme-http.ts'
import { type AcmeSession, untilAborted } from './acme-session.ts'
import { IssueError } from './authority.ts'
import { type AccountKey, bindExternalAccount, type ExternalAccount } from './jws.ts'
import { blameAccountAlone, isFinalRefusal } from './problem.ts'

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
        once('account', () => findOrCreate(session, settings).catch(blameAccountAlone)),
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
  const payload = { termsOfServiceAgreed: true, contact }
  const post = (what: object) => session.post({ url: newAccount, payload: what })
  const answer = eab
    ? await findOrBind(post, { ...payload, externalAccountBinding: bindExternalAccount(key, eab, newAccount) })
    : await post(payload)
  const account = readUrl(answer.location, 'the Location of the account')
  if (answer.status === 200 && email !== undefined && !contactsOf(answer.body).includes(contact[0])) {
    await session.post({ url: account, account, payload: { contact } })
  }
  return account
}

/**
 * The account is asked for by its key alone first (RFC 8555 §7.3.1), and once more where it may not be bound: some authorities take a binding
 * once, and another worker may have sent it meanwhile.
 */
async function findOrBind(post: (payload: object) => Promise<HttpAnswer>, binding: object): Promise<HttpAnswer> {
  const find = () => post({ onlyReturnExisting: true }).catch(unlessAnswered)
  const found = await find()
  if (found) return found
  try {
    return await post(binding)
  } catch (refused) {
    const bound = isFinalRefusal(refused) ? await find() : undefined
    if (!bound) throw refused
    return bound
  }
}

/** Whatever was answered, no account was found; what is wrong with it, the answer to the binding says. */
function unlessAnswered(error: unknown): undefined {
  const status = error instanceof IssueError ? error.problem.status : undefined
  if (status === undefined || status === 429) throw error
}

function contactsOf(account: unknown): unknown[] {
  const contacts = (account as { contact?: unknown } | undefined)?.contact
  return Array.isArray(contacts) ? contacts : []
}
