import { createOnce } from '../lib/once.ts'
import { type Directory, readDirectory } from './acme-answers.ts'
import { createSend, explainAbort, type HttpAnswer } from './acme-http.ts'
import type { IssueError } from './authority.ts'
import { type AccountKey, signRequest } from './jws.ts'
import { ACME_ERROR, isAcmeError, ownFault, readProblem, refusal } from './problem.ts'

const NONCE_TRIES_MAX = 12
const NONCES_KEPT_MAX = 50
const DIRECTORY_KEPT_MS = 3_600_000

/** A signed request (RFC 8555 §6.2): by the account, or by the bare key while `account` is absent. No payload: POST-as-GET. */
export type Request = { url: string; account?: string; payload?: object; accept?: string }

/** Requests to one directory. All reject with IssueError, also for an answer that is not 2xx. */
export type AcmeSession = {
  directory(signal?: AbortSignal): Promise<Directory>
  /** Unsigned, for what is public (RFC 9773 §4.2). */
  get(url: string, signal?: AbortSignal): Promise<HttpAnswer>
  /** Signed; badNonce is tried again with a fresh nonce. */
  post(request: Request, signal?: AbortSignal): Promise<HttpAnswer>
}

export function createAcmeSession(settings: { directoryUrl: string; key: AccountKey; caFile?: string; now: () => Date }): AcmeSession {
  const { directoryUrl, key } = settings
  const { host } = new URL(directoryUrl)
  const send = createSend(settings)
  const remembered = rememberDirectory(async () => readDirectory(requireSuccess(await send({ method: 'GET', url: directoryUrl }), host)))
  const directory = remembered.read
  const nonces: string[] = []

  const keepNonce = ({ nonce }: HttpAnswer) => {
    if (nonce && nonces.length < NONCES_KEPT_MAX) nonces.push(nonce)
  }
  const fetchNonce = async (signal?: AbortSignal) => {
    const answer = requireSuccess(await send({ method: 'HEAD', url: (await directory(signal)).newNonce }, signal), host)
    if (!answer.nonce) throw ownFault('malformedAnswer', `${host} gave no nonce`)
    return answer.nonce
  }

  return {
    directory,
    get: async (url, signal) => requireSuccess(await send({ method: 'GET', url }, signal), host),
    async post({ url, account, payload, accept }, signal) {
      let nonce = nonces.pop() ?? (await fetchNonce(signal))
      for (let attempt = 1; ; attempt++) {
        const body = JSON.stringify(signRequest(key, { kid: account, nonce, url }, payload))
        const answer = await send({ method: 'POST', url, body, accept }, signal)
        const refused = findRefusal(answer, host)
        if (!isAcmeError(refused, 'badNonce') || attempt === NONCE_TRIES_MAX) {
          keepNonce(answer)
          if (answer.status === 404) remembered.forget(url)
          if (refused) throw refused
          return answer
        }
        nonce = answer.nonce ?? (await fetchNonce(signal))
      }
    },
  }
}

/** Waits for shared work, but no longer than this caller's signal allows. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const abort = () => reject(explainAbort(signal))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Many orders that begin together share one look; a failed one is not remembered. `forget`: there is no new order, or account, at this URL. */
function rememberDirectory(look: () => Promise<Directory>): { read: AcmeSession['directory']; forget(url: string): void } {
  const once = createOnce<'directory', Directory>()
  let known: { directory: Directory; untilMs: number } | undefined
  return {
    async read(signal) {
      if (known && performance.now() < known.untilMs) return known.directory
      const directory = await untilAborted(once('directory', look), signal)
      known = { directory, untilMs: performance.now() + DIRECTORY_KEPT_MS }
      return directory
    },
    forget(url) {
      if (known && [known.directory.newOrder, known.directory.newAccount].includes(url)) known = undefined
    },
  }
}

function requireSuccess(answer: HttpAnswer, host: string): HttpAnswer {
  const refused = findRefusal(answer, host)
  if (refused) throw refused
  return answer
}

function findRefusal({ status, body, contentType, text, retryAfterS }: HttpAnswer, host: string): IssueError | undefined {
  if (status >= 200 && status < 300) return undefined
  const problem = readProblem(body, status)
  // In a 5xx the words of anybody but ACME are a gateway's, which stands in front of the authority and judges no hostname.
  const isForeign = status >= 500 && !problem?.type.startsWith(ACME_ERROR)
  if (problem && problem.type !== 'about:blank' && !isForeign) return refusal(`${host} refused`, problem, retryAfterS)
  const found = `${host} answered with status ${status} and no ACME problem document (${contentType || 'no type'}): ${text.slice(0, 200)}`
  return ownFault('malformedAnswer', found, { retryAfterS, status })
}
