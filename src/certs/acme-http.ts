import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext, rootCertificates } from 'node:tls'
import { Agent, request } from 'undici'
import { explainConnection } from '../lib/connection-trouble.ts'
import type { IssueError } from './authority.ts'
import { ownFault, toStorable } from './problem.ts'
import { readRetryAfter } from './retry-after.ts'

const CONNECT_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
const CONNECTIONS_MAX = 8
const ANSWER_BYTES_MAX = 1_000_000

/** One HTTP answer, whatever its status. `body` is undefined when the text is no JSON. */
export type HttpAnswer = {
  status: number
  contentType: string
  text: string
  body: unknown
  location?: string
  nonce?: string
  retryAfterS?: number
}

export type HttpQuestion = { method: 'GET' | 'HEAD' | 'POST'; url: string; body?: string; accept?: string }

/** Sends one request and reads the whole answer within a deadline. Rejects with IssueError when none came. */
export type Send = (question: HttpQuestion, signal?: AbortSignal) => Promise<HttpAnswer>

/** HTTPS to one authority. The file's certificates are trusted beside the public roots; it is read at the first request. */
export function createSend({ caFile, now }: { caFile?: string; now: () => Date }): Send {
  let agent: Promise<Agent> | undefined
  const connected = async () => {
    agent ??= createAgent(caFile)
    return agent.catch((error) => {
      agent = undefined // the file may be there the next time
      throw error
    })
  }
  return async (question, signal) => exchange(await connected(), question, { signal, now })
}

/** What an ended signal means for an order. */
export function explainAbort(signal: AbortSignal): IssueError {
  return isLate(signal)
    ? ownFault('timeout', 'the order took too long and was given up')
    : ownFault('aborted', 'the order was broken off: this process is stopping')
}

/** Whether what ended was its time, and not this process. */
export function isLate({ reason }: AbortSignal): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError'
}

async function createAgent(caFile: string | undefined): Promise<Agent> {
  const secureContext = caFile === undefined ? undefined : createSecureContext({ ca: [...rootCertificates, await readCaFile(caFile)] })
  return new Agent({
    connect: { secureContext, timeout: CONNECT_TIMEOUT_MS },
    connections: CONNECTIONS_MAX,
    headersTimeout: REQUEST_TIMEOUT_MS,
    bodyTimeout: REQUEST_TIMEOUT_MS,
    maxResponseSize: ANSWER_BYTES_MAX,
  })
}

const UNREADABLE: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'the user that the service runs as may not read it or enter a folder above it',
}

async function readCaFile(path: string): Promise<string> {
  try {
    const pem = await readFile(path, 'utf8')
    new X509Certificate(pem)
    return pem
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    const reason = UNREADABLE[code] ?? 'it holds no PEM certificate that can be read'
    throw ownFault('caFileInvalid', `NAMESAKE_ACME_CA_FILE (${path}) cannot be used: ${reason}`, { cause })
  }
}

async function exchange(
  dispatcher: Agent,
  question: HttpQuestion,
  context: { signal?: AbortSignal; now: () => Date },
): Promise<HttpAnswer> {
  const { method, url, body, accept = 'application/json' } = question
  const deadline = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  const signal = context.signal ? AbortSignal.any([context.signal, deadline]) : deadline
  const headers = { 'user-agent': 'namesake', 'accept-language': 'en', accept, ...(body && { 'content-type': 'application/jose+json' }) }
  try {
    const answer = await request(url, { method, headers, body, dispatcher, signal })
    const field = (name: string) => [answer.headers[name]].flat()[0]
    const text = await answer.body.text()
    return {
      status: answer.statusCode,
      contentType: field('content-type') ?? '',
      text,
      body: parseJson(text),
      location: field('location'),
      nonce: field('replay-nonce'),
      retryAfterS: readRetryAfter(field('retry-after'), answeredAt(field('date'), context.now())),
    }
  } catch (cause) {
    if (context.signal?.aborted) throw explainAbort(context.signal)
    throw explainFailure(new URL(url).host, cause)
  }
}

/** By the authority's own clock, so that a date in its answer is as far off as it means, whatever ours says. */
function answeredAt(date: string | undefined, now: Date): Date {
  const ms = Date.parse(date ?? '')
  return Number.isNaN(ms) ? now : new Date(ms)
}

function explainFailure(host: string, cause: unknown): IssueError {
  const { name = '', code = '', message = '' } = cause as { name?: string; code?: string; message?: string }
  if (name === 'TimeoutError' || /_TIMEOUT$|^ETIMEDOUT$/.test(code)) return ownFault('timeout', `${host} did not answer in time`, { cause })
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return ownFault('malformedAnswer', `${host} sent more than ${ANSWER_BYTES_MAX} bytes`, { cause })
  if (code.startsWith('HPE_')) return ownFault('malformedAnswer', `${host} does not speak HTTP: ${message}`, { cause })
  if (/CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/.test(code)) {
    const hint = 'set NAMESAKE_ACME_CA_FILE to the root that signed it if this is a private authority'
    return ownFault('connectionFailed', `the TLS certificate of ${host} is not trusted (${message}); ${hint}`, { cause })
  }
  return ownFault('connectionFailed', `no connection to ${host}: ${explainConnection(cause as Error, message || code)}`, { cause })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, (_member, value) => (typeof value === 'string' ? toStorable(value) : value))
  } catch {
    return undefined
  }
}
