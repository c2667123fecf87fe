import type { components, operations } from './types.ts'

export type Domain = components['schemas']['Domain']
export type DomainDetails = components['schemas']['DomainDetails']
export type Resolved = components['schemas']['Resolved']
export type Metadata = Domain['metadata']
export type ConnectLink = components['schemas']['ConnectLink']
export type OrderRecord = components['schemas']['OrderRecord']
export type ErrorCode = components['schemas']['Problem']['code']

/** What narrows a listing. */
export type DomainFilter = { verified?: boolean; search?: string }

type ImportRequest = operations['importCertificate']
export type Imported = ImportRequest['requestBody']['content']['application/json']
/** `warnings` say what some visitors may not like. */
export type ImportedCertificate = ImportRequest['responses'][200]['content']['application/json']

/** `signal` ends a call, which then rejects with the signal's reason; without one it ends after ten seconds, a check after thirty. */
export type CallOptions = { signal?: AbortSignal }

export type ClientSettings = {
  /** Where the API is, for example `https://api.example.com`, with a path or without. */
  baseUrl: string | URL
  /** A token of your project: `svc_` and 64 hexadecimal digits. undefined is refused, like every other that is none. */
  token: string | undefined
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
  /** A link to a page for the hostname's owner, who needs no account there. What stands behind its `#` is the token of `<namesake-connect>`. */
  link(hostname: string, options?: CallOptions): Promise<ConnectLink>
  /** The last 20 attempts to obtain its certificate, newest first. */
  orders(hostname: string, options?: CallOptions): Promise<OrderRecord[]>
  /** Serves the hostname with a certificate that you obtained elsewhere: chain and key in PEM. Nothing replaces it while it is valid. */
  importCertificate(hostname: string, certificate: Imported, options?: CallOptions): Promise<ImportedCertificate>
  /** Has a certificate ordered in place of an imported one, which serves until then. */
  orderInsteadOfImported(hostname: string, options?: CallOptions): Promise<void>
  /** What a visitor's `Host` header stands for (a port is ignored); undefined when your project does not hold it, as it never does an IP address or `localhost`. */
  resolve(host: string | undefined, options?: CallOptions): Promise<Resolved | undefined>
}

/** `unreachable`: there was no answer, at all or in time. `not_a_namesake_answer`: somebody else gave one, as where `baseUrl` is wrong. */
export type ClientErrorCode = ErrorCode | 'unreachable' | 'not_a_namesake_answer'

/** An answer other than success, or none. Decide by `code`; `message` says what to do. */
export class NamesakeError extends Error {
  /** 0 without an answer. */
  readonly status: number
  readonly code: ClientErrorCode
  /** Name it when you ask for help. */
  readonly requestId: string | undefined
  /** When to try again, where the service said so. */
  readonly retryAfterS: number | undefined

  constructor(answer: Failure) {
    super(answer.message, answer.cause === undefined ? undefined : { cause: answer.cause })
    this.name = 'NamesakeError'
    this.status = answer.status
    this.code = answer.code
    this.requestId = answer.requestId
    this.retryAfterS = answer.retryAfterS
  }
}

type Failure = { status: number; code: ClientErrorCode; message: string; requestId?: string; retryAfterS?: number; cause?: unknown }

const TIMEOUT_MS = 10_000
const CHECK_TIMEOUT_MS = 30_000 // the service itself looks for up to ten seconds
const TOKEN = /^svc_[a-f0-9]{64}$/
const DOMAINS = '/v1/edge/domains'

type Answer = { status: number; headers: Headers; text: string }
type Call = { method: string; path: string; body?: object; timeoutMs?: number; options: CallOptions | undefined }

/**
 * A client of one project. Holds no connection and no state. Every call rejects with NamesakeError, or with the reason of the caller's own signal.
 * Throws TypeError when the token or the address has not the form of one; blanks around the token do no harm.
 */
export function createClient(settings: ClientSettings): Client {
  const send = settings.fetch ?? fetch
  const api = addressOf(settings.baseUrl)
  const token = settings.token?.trim()
  if (!token) throw new TypeError('no token was given: createClient({ baseUrl, token })')
  if (!TOKEN.test(token)) throw new TypeError('the token is not svc_ and 64 hexadecimal digits') // which it was belongs in no log
  const call = async ({ method, path, body, timeoutMs = TIMEOUT_MS, options }: Call): Promise<Answer> => {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` }
    if (body) headers['content-type'] = 'application/json'
    const signal = options?.signal ?? AbortSignal.timeout(timeoutMs)
    try {
      // A redirect is not followed: the token is meant for this address alone.
      const response = await send(`${api}${path}`, {
        method,
        headers,
        signal,
        redirect: 'manual',
        ...(body && { body: JSON.stringify(body) }),
      })
      return { status: response.status, headers: response.headers, text: await response.text() }
    } catch (cause) {
      if (options?.signal?.aborted) throw cause
      const message = `no answer came from ${api}${signal.aborted ? ` within ${timeoutMs / 1_000} seconds` : ''}`
      throw new NamesakeError({ status: 0, code: 'unreachable', message, cause })
    }
  }
  const read = async <T>(wanted: Call): Promise<T> => contentOf<T>(await call(wanted), api)
  const remove = async (path: string, options: CallOptions | undefined): Promise<void> => {
    const answer = await call({ method: 'DELETE', path, options })
    if (answer.status !== 204) throw failureOf(answer, api)
  }

  return {
    register: (hostname, metadata, options) =>
      read({ method: 'POST', path: DOMAINS, body: { hostname, ...(metadata && { metadata }) } satisfies Registration, options }),
    list: (filter = {}, options) => read({ method: 'GET', path: `${DOMAINS}?${queryOf(filter)}`, options }),
    async *pages(limit, filter = {}, options) {
      let query: string | undefined = `?${queryOf({ ...filter, limit })}`
      while (query !== undefined) {
        const answer: Answer = await call({ method: 'GET', path: `${DOMAINS}${query}`, options })
        const page = contentOf<Domain[]>(answer, api)
        query = nextQuery(answer.headers.get('link'))
        yield page
      }
    },
    show: (hostname, options) => read({ method: 'GET', path: pathOf(hostname), options }),
    check: (hostname, options) => read({ method: 'POST', path: `${pathOf(hostname)}/check`, timeoutMs: CHECK_TIMEOUT_MS, options }),
    remove: (hostname, options) => remove(pathOf(hostname), options),
    link: (hostname, options) => read({ method: 'POST', path: `${pathOf(hostname)}/link`, options }),
    orders: (hostname, options) => read({ method: 'GET', path: `${certificateOf(hostname)}/history`, options }),
    importCertificate: (hostname, { chain, key }, options) =>
      read({ method: 'PUT', path: certificateOf(hostname), body: { chain, key } satisfies Imported, options }),
    orderInsteadOfImported: (hostname, options) => remove(certificateOf(hostname), options),
    async resolve(host, options) {
      const hostname = host?.replace(/:\d+$/, '')
      if (!hostname) return undefined
      try {
        return await read<Resolved>({ method: 'GET', path: `/v1/edge/resolve?${new URLSearchParams({ hostname })}`, options })
      } catch (error) {
        if (error instanceof NamesakeError && NOT_HELD.includes(error.code)) return undefined
        throw error
      }
    },
  }
}

// What is no domain name, such as the IP address by which a load balancer asks for an application's health, is nobody's.
const NOT_HELD: readonly ClientErrorCode[] = ['domain_not_found', 'hostname_invalid']

type Registration = operations['registerDomain']['requestBody']['content']['application/json']

function pathOf(hostname: string): string {
  return `${DOMAINS}/${encodeURIComponent(hostname)}`
}

function certificateOf(hostname: string): string {
  return `${pathOf(hostname)}/certificate`
}

function queryOf(values: Record<string, string | number | boolean | undefined>): URLSearchParams {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value))
  return query
}

/** Origin and path, without a final slash. */
function addressOf(baseUrl: string | URL): string {
  const { protocol, origin, pathname } = new URL(baseUrl)
  if (!/^https?:$/.test(protocol)) throw new TypeError('baseUrl is no http or https address, such as https://api.example.com')
  return origin + pathname.replace(/\/+$/, '')
}

/** What a Link header says of the next page. Of its address the query alone counts: the token goes nowhere else. */
function nextQuery(link: string | null): string | undefined {
  return /<[^>?]*(\?[^>#]*)[^>]*>; rel="next"/.exec(link ?? '')?.[1]
}

function contentOf<T>(answer: Answer, api: string): T {
  const content = answer.status === 200 ? parse(answer.text) : undefined
  if (typeof content !== 'object' || content === null) throw failureOf(answer, api)
  return content as T
}

function failureOf({ status, headers, text }: Answer, api: string): NamesakeError {
  const problem = status >= 400 ? (parse(text) as Partial<components['schemas']['Problem']> | null | undefined) : undefined
  const retryAfterS = Number(headers.get('retry-after') ?? Number.NaN)
  const retry = Number.isNaN(retryAfterS) ? {} : { retryAfterS }
  if (!problem?.code)
    return new NamesakeError({ status, code: 'not_a_namesake_answer', message: strangeness(status, headers, api), ...retry })
  const message = problem.detail ?? problem.title ?? `the server answered ${status}`
  return new NamesakeError({ status, code: problem.code, message, ...(problem.requestId && { requestId: problem.requestId }), ...retry })
}

function strangeness(status: number, headers: Headers, api: string): string {
  const isRedirect = status === 0 || (status >= 300 && status < 400) // 0: where a browser's rules hold, a redirect is shown without anything else
  if (!isRedirect) return `what answered ${status} at ${api} is not Namesake: is this the API's address?`
  const location = headers.get('location')
  return `${api} leads elsewhere${location ? ` (${location})` : ''}: give as baseUrl the address of the API itself`
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
