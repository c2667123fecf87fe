import { rawMember } from './raw-json.ts'
import type * as records from './records.ts'
import { sentenceOf } from './sentence.ts'
import { text } from './strings.ts'

const ANSWER_TIMEOUT_MS = 30_000

/** Where the API is called: the portal and the API answer at the same addresses. */
export const API_URL = window.location.origin

/** A refusal by the API, or no answer at all (code `unreachable`). `message` is a sentence for whoever reads the page. */
export class ApiProblem extends Error {
  readonly code: string
  readonly status: number
  constructor(code: string, status: number, sentence: string) {
    super(sentence)
    this.code = code
    this.status = status
  }
}

/** Somebody else changed it first, so that nothing of ours was stored. */
export function wasOvertaken(error: unknown): boolean {
  return error instanceof ApiProblem && error.code === 'changed_meanwhile'
}

export type Page<T> = { items: T[]; next: string | null }

/** `ifMatch`: the tag of what the change is made over. */
type Sent = { body?: unknown; rawBody?: string; token?: string; ifMatch?: string | undefined }

async function send(method: string, path: string, { body, rawBody, token, ifMatch }: Sent = {}): Promise<Response> {
  const sent = rawBody ?? (body === undefined ? undefined : JSON.stringify(body))
  const headers: Record<string, string> = { accept: 'application/json' }
  if (sent !== undefined) headers['content-type'] = 'application/json'
  if (token !== undefined) headers.authorization = `Connect ${token}`
  if (ifMatch !== undefined) headers['if-match'] = ifMatch
  const init: RequestInit = { method, headers, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) }
  if (sent !== undefined) init.body = sent
  const answer = await fetch(path, init).catch(() => {
    throw unreachable()
  })
  if (answer.ok) return answer
  throw await readProblem(answer)
}

function unreachable(): ApiProblem {
  return new ApiProblem('unreachable', 0, text.problems.unreachable)
}

/** An answer that is cut off, or another's in the place of the service's, as the sign-in page of a hotel's network, is none. */
async function readJson<T>(answer: Response): Promise<{ json: string; value: T }> {
  try {
    const json = await answer.text()
    return { json, value: JSON.parse(json) as T }
  } catch {
    throw unreachable()
  }
}

async function readProblem(answer: Response): Promise<ApiProblem> {
  const problem = (await answer.json().catch(() => ({}))) as { code?: string; detail?: string }
  const code = problem.code ?? 'unknown'
  const known: Record<string, string> = text.problems.byCode
  return new ApiProblem(code, answer.status, known[code] ?? sentenceOf(problem.detail ?? text.problems.unexpected(answer.status)))
}

async function call<T>(method: string, path: string, sent?: Sent): Promise<T> {
  const answer = await send(method, path, sent)
  const isEmpty = answer.status === 204 || answer.headers.get('content-length') === '0'
  return isEmpty ? (undefined as T) : (await readJson<T>(answer)).value
}

async function readPage<T>(path: string): Promise<Page<T>> {
  const answer = await send('GET', path)
  const next = /<([^>]+)>;\s*rel="?next"?/.exec(answer.headers.get('link') ?? '')?.[1]
  return { items: (await readJson<T[]>(answer)).value, next: next ? new URL(next, API_URL).searchParams.get('cursor') : null }
}

async function readTagged<T>(method: string, path: string, sent?: Sent): Promise<{ json: string; value: records.Tagged<T> }> {
  const answer = await send(method, path, sent)
  const { json, value } = await readJson<T>(answer)
  return { json, value: { ...value, etag: tagIn(answer.headers.get('etag')) } }
}

/** Without what proxies that compress make of it: `W/` before it, as nginx, or a word behind it, as Apache. */
function tagIn(field: string | null): string | undefined {
  const [tag] = /"[0-9a-f]+/.exec(field ?? '') ?? []
  return tag && `${tag}"`
}

async function readProject<T extends records.Project>(method: string, path: string, sent?: Sent): Promise<records.Tagged<T>> {
  return (await readTagged<T>(method, path, sent)).value
}

async function readDetails(method: string, path: string): Promise<records.Tagged<records.DomainDetails>> {
  const { json, value } = await readTagged<records.DomainDetails>(method, path)
  return { ...value, metadataJson: rawMember(json, 'metadata') ?? '{}' }
}

const project = (slug: string) => `/v1/portal/projects/${encodeURIComponent(slug)}`
const domain = (slug: string, hostname: string) => `${project(slug)}/domains/${encodeURIComponent(hostname)}`

/** Each endpoint once. Everything rejects with ApiProblem alone. */
export const api = {
  requestLink: (email: string) => call<{ sent: true; inbox?: string }>('POST', '/v1/auth/request-magic-link', { body: { email } }),
  showLink: (token: string) => call<{ email: string }>('POST', '/v1/auth/magic-link', { body: { token } }),
  confirmLink: (token: string) => call<records.User>('POST', '/v1/auth/callback', { body: { token } }),
  me: () => call<records.User>('GET', '/v1/auth/me'),
  signOut: () => call<void>('POST', '/v1/auth/sign-out'),

  projects: () => call<records.Project[]>('GET', '/v1/portal/projects'),
  createProject: (wanted: { name: string; upstreamUrl: string }) =>
    call<records.CheckedProject>('POST', '/v1/portal/projects', { body: wanted }),
  project: (slug: string) => readProject<records.Project>('GET', project(slug)),
  changeProject: (
    slug: string,
    changes: {
      name?: string
      upstreamUrl?: string
      upstreamProtocol?: records.UpstreamProtocol
      brand?: { color?: string | null; logoUrl?: string | null }
      errorPage?: string | null
      cnameTarget?: string | null
    },
    ifMatch?: string,
  ) => readProject<records.CheckedProject>('PATCH', project(slug), { body: changes, ifMatch }),
  removeProject: (slug: string) => call<void>('DELETE', project(slug)),

  domains: (slug: string, query: URLSearchParams) => readPage<records.Domain>(`${project(slug)}/domains?${query}`),
  domain: (slug: string, hostname: string) => readDetails('GET', domain(slug, hostname)),
  claim: (slug: string, hostname: string) => call<records.Domain>('POST', `${project(slug)}/domains`, { body: { hostname } }),
  claimMany: (slug: string, hostnames: string[]) =>
    call<{ results: records.BulkResult[] }>('POST', `${project(slug)}/domains/bulk`, { body: { hostnames } }),
  check: (slug: string, hostname: string) => readDetails('POST', `${domain(slug, hostname)}/check`),
  /** `json` goes out as it was typed: parsing it here would lose key order and the notation of numbers. */
  replaceMetadata: (slug: string, hostname: string, json: string, ifMatch?: string) =>
    call<records.Domain>('PATCH', domain(slug, hostname), { rawBody: `{"metadata":${json}}`, ifMatch }),
  removeDomain: (slug: string, hostname: string) => call<void>('DELETE', domain(slug, hostname)),
  createLink: (slug: string, hostname: string) => call<{ url: string; expiresAt: string }>('POST', `${domain(slug, hostname)}/link`),

  tokens: (slug: string) => call<records.Token[]>('GET', `${project(slug)}/tokens`),
  issueToken: (slug: string, name: string) =>
    call<records.IssuedToken>('POST', `${project(slug)}/tokens`, { body: name === '' ? {} : { name } }),
  revokeToken: (slug: string, id: string) => call<void>('DELETE', `${project(slug)}/tokens/${encodeURIComponent(id)}`),

  members: (slug: string) => call<records.Member[]>('GET', `${project(slug)}/members`),
  invite: (slug: string, wanted: { email: string; role: records.Role }) =>
    call<records.Member>('POST', `${project(slug)}/members`, { body: wanted }),
  changeRole: (slug: string, { email, etag }: records.Member, role: records.Role) =>
    call<records.Member>('PATCH', `${project(slug)}/members/${encodeURIComponent(email)}`, { body: { role }, ifMatch: etag }),
  removeMember: (slug: string, email: string) => call<void>('DELETE', `${project(slug)}/members/${encodeURIComponent(email)}`),

  activity: (slug: string, query: URLSearchParams) => readPage<records.Activity>(`${project(slug)}/activity?${query}`),

  connect: (token: string) => call<records.Connect>('GET', '/v1/connect', { token }),
  connectCheck: (token: string) => call<records.Connect>('POST', '/v1/connect/check', { token }),
  connectMail: (token: string, mail: { to: string; note?: string }) => call<void>('POST', '/v1/connect/mail', { token, body: mail }),
}

/** The page that visitors see while a project's application does not answer. */
export const errorPagePreview = (slug: string) => `${project(slug)}/error-page`

/** Where a project's changes stream from, and a connect link's. */
export const streams = { project: (slug: string) => `${project(slug)}/events`, connect: '/v1/connect/events' }

/** Whether the service answers. */
export type Health = { kind: 'up' } | { kind: 'down' }

/** Asks the health endpoint; never rejects. */
export async function readHealth(): Promise<Health> {
  const answer = await call<{ status?: string }>('GET', '/healthz').catch(() => undefined)
  return answer?.status === 'ok' ? { kind: 'up' } : { kind: 'down' }
}
