import { endsLink } from '../../portal/connection.ts'
import { followEvents } from '../../portal/event-stream.ts'
import type { Connect } from '../../portal/records.ts'
import { retryAfterMsOf } from '../../portal/retry-pauses.ts'
import { sentenceOf } from '../../portal/sentence.ts'

/** No answer for now. `busy`: the service says when to ask again. */
export type Trouble = { kind: 'busy'; sentence: string } | { kind: 'unreachable' }
/** What the service says to the token. `ended`: it expired, or its hostname is no longer claimed. */
export type Answer = { kind: 'found'; connect: Connect } | { kind: 'ended' } | { kind: 'trouble'; trouble: Trouble; retryAfterMs: number }

/** A connect link at work: nothing that it does rejects or throws. */
export type Link = {
  load(): Promise<Answer>
  /** Looks at the DNS now. */
  check(): Promise<Answer>
  /** Calls back when something may have changed, until the returned function is called. */
  follow(onNews: () => void): () => void
}

const ANSWER_TIMEOUT_MS = 30_000
const TOKEN_ALONE = { credentials: 'omit', referrerPolicy: 'no-referrer' } as const

/** `api` is the address of the API, with or without a path. Sends the token and nothing else of the page: no cookie, no Referer. */
export function openLink(api: string, token: string): Link {
  const address = (path: string) => `${api.replace(/\/+$/, '')}/v1/connect${path}`
  const ask = async (method: string, path: string): Promise<Answer> => {
    try {
      const answer = await fetch(address(path), {
        method,
        headers: { accept: 'application/json', authorization: `Connect ${token}` },
        ...TOKEN_ALONE,
        cache: 'no-store',
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      })
      return read(answer, await answer.json().catch(() => ({})))
    } catch {
      return { kind: 'trouble', trouble: { kind: 'unreachable' }, retryAfterMs: 0 }
    }
  }
  return {
    load: () => ask('GET', ''),
    check: () => ask('POST', '/check'),
    follow: (onNews) =>
      followEvents({ path: address('/events'), token, request: TOKEN_ALONE, onEvent: onNews, onStale: onNews, onRefused: onNews }),
  }
}

function read(answer: Response, body: Partial<Connect> & { code?: string; detail?: string }): Answer {
  const { status } = answer
  if (status === 200 && typeof body.hostname === 'string' && body.dns && body.project) return { kind: 'found', connect: body as Connect }
  if (endsLink(body.code)) return { kind: 'ended' }
  const isBusy = status === 429 && typeof body.detail === 'string'
  const trouble: Trouble = isBusy ? { kind: 'busy', sentence: sentenceOf(body.detail!) } : { kind: 'unreachable' }
  return { kind: 'trouble', trouble, retryAfterMs: retryAfterMsOf(answer) }
}
