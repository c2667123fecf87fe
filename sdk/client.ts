import type { components, operations } from './types.ts'

export type Domain = components['schemas']['Domain']
export type DomainDetails = components['schemas']['DomainDetails']
export type Resolved = components['schemas']['Resolved']
export type Metadata = Domain['metadata']
export type ErrorCode = components['schemas']['Problem']['code']

/** What narrows a listing. */
export type DomainFilter = { verified?: boolean; search?: string }

/** `signal` ends a call early; without one it ends after ten seconds. */
export type CallOptions = { signal?: AbortSignal }

export type ClientSettings = {
  /** Where the API is, for example `https://api.example.com`. */
  baseUrl: string | URL
  /** A token of your project: `svc_` and 64 hexadecimal digits. */
  token: string
  /** Another fetch, for example with a proxy or a cache. */
  fetch?: typeof fetch
}

export type Client = {
  /** Claims the hostname, or merges the metadata into the claim that your project holds already. */
  register(hostname: string, metadata?: Metadata, options?: CallOptions): Promise<Domain>
  /** Every domain of your project, oldest first. */
  list(filter?: DomainFilter, options?: CallOptions): Promise<Domain[]>
  /** The same in pages of at most `limit` domains (1 to 1000). */
  pages(limit: number, filter?: DomainFilter, options?: CallOptions): AsyncGenerator<Domain[], void>
  /** A domain with how its DNS and its certificate stand. */
  show(hostname: string, options?: CallOptions): Promise<DomainDetails>
  /** Looks at the hostname's DNS now, and answers as show does. */
  check(hostname: string, options?: CallOptions): Promise<DomainDetails>
  /** Gives the hostname up. */
  remove(hostname: string, options?: CallOptions): Promise<void>
  /** What a visitor's `Host` header stands for (a port is ignored); undefined when your project does not hold the hostname. */
  resolve(host: string, options?: CallOptions): Promise<Resolved | undefined>
}

/** An answer other than success. Decide by `code`; `message` says what to do. */
export class NamesakeError extends Error {
  readonly status: number
  readonly code: ErrorCode | 'not_a_namesake_answer'
  /** Name it when you ask for help. */
  readonly requestId: string | undefined
  /** When to try again, where the service said so. */
  readonly retryAfterS: number | undefined

  constructor(answer: { status: number; code: NamesakeError['code']; message: string; requestId?: string; retryAfterS?: number }) {
    super(answer.message)
    this.name = 'NamesakeError'
    this.status = answer.status
    this.code = answer.code
    this.requestId = answer.requestId
    this.retryAfterS = answer.retryAfterS
  }
}

const TIMEOUT_MS = 10_000
const TOKEN = /^svc_[a-f0-9]{64}$/
const DOMAINS = '/v1/edge/domains'

/**
 * A client of one project. Holds no connection and no state. Every call rejects with NamesakeError, or as fetch does.
 * Throws TypeError when the token has not the form of one; blanks around it do no harm.
 */
export function createClient(settings: ClientSettings): Client {
  const send = settings.fetch ?? fetch
  const token = settings.token.trim()
  if (!TOKEN.test(token)) throw new TypeError('the token is not svc_ and 64 hexadecimal digits') // which it was belongs in no log
  const call = async (method: string, path: string | URL, options: CallOptions = {}, body?: object): Promise<Response> => {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` }
    if (body) headers['content-type'] = 'application/json'
    const url = new URL(path, settings.baseUrl)
    if (url.origin !== new URL(settings.baseUrl).origin) throw new TypeError(`${url.origin} is not where the token is meant for`)
    const signal = options.signal ?? AbortSignal.timeout(TIMEOUT_MS)
    const response = await send(url, { method, headers, signal, redirect: 'error', ...(body && { body: JSON.stringify(body) }) })
    if (!response.ok) throw await readError(response)
    return response
  }
  const read = async <T>(response: Promise<Response>): Promise<T> => (await (await response).json()) as T

  return {
    register: (hostname, metadata, options) =>
      read(call('POST', DOMAINS, options, { hostname, ...(metadata && { metadata }) } satisfies Registration)),
    list: (filter = {}, options) => read(call('GET', `${DOMAINS}?${queryOf(filter)}`, options)),
    async *pages(limit, filter = {}, options) {
      let next: string | URL | undefined = `${DOMAINS}?${queryOf({ ...filter, limit })}`
      while (next) {
        const response: Response = await call('GET', next, options)
        next = nextPage(response.headers.get('link'), settings.baseUrl)
        yield (await response.json()) as Domain[]
      }
    },
    show: (hostname, options) => read(call('GET', pathOf(hostname), options)),
    check: (hostname, options) => read(call('POST', `${pathOf(hostname)}/check`, options)),
    async remove(hostname, options) {
      await call('DELETE', pathOf(hostname), options)
    },
    async resolve(host, options) {
      const hostname = host.replace(/:\d+$/, '')
      try {
        return await read<Resolved>(call('GET', `/v1/edge/resolve?${new URLSearchParams({ hostname })}`, options))
      } catch (error) {
        if (error instanceof NamesakeError && error.code === 'domain_not_found') return undefined
        throw error
      }
    },
  }
}

type Registration = operations['registerDomain']['requestBody']['content']['application/json']

function pathOf(hostname: string): string {
  return `${DOMAINS}/${encodeURIComponent(hostname)}`
}

function queryOf(values: Record<string, string | number | boolean | undefined>): URLSearchParams {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value))
  return query
}

/** The next page by its path and query alone: the host stays the one that the token is meant for, also where a path begins with `//`. */
function nextPage(link: string | null, baseUrl: string | URL): URL | undefined {
  const target = /<([^>]+)>; rel="next"/.exec(link ?? '')?.[1]
  if (!target) return undefined
  const { pathname, search } = new URL(target, baseUrl)
  return Object.assign(new URL('/', baseUrl), { pathname, search })
}

async function readError(response: Response): Promise<NamesakeError> {
  const { status } = response
  const problem = (await response.json().catch(() => undefined)) as Partial<components['schemas']['Problem']> | undefined
  const retryAfterS = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retry = Number.isNaN(retryAfterS) ? {} : { retryAfterS }
  if (!problem?.code)
    return new NamesakeError({ status, code: 'not_a_namesake_answer', message: `the server answered ${status}`, ...retry })
  const message = problem.detail ?? problem.title ?? `the server answered ${status}`
  return new NamesakeError({ status, code: problem.code, message, ...(problem.requestId && { requestId: problem.requestId }), ...retry })
}
