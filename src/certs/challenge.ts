import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { isIPv6 } from 'node:net'
import type { Hostname } from '../hostname.ts'
import { pause } from '../lib/back-off.ts'
import { explainConnection } from '../lib/connection-trouble.ts'
import { ADDRESSES_MAX, judgeLooks, LOOK_TIMEOUT_MS, type Look, type SelfCheck } from './self-check.ts'

/** Where HTTP-01 challenges are fetched (RFC 8555 §8.3), before the token. */
export const CHALLENGE_PATH = '/.well-known/acme-challenge/'

const LOOKS_MAX = 3
const LOOK_PAUSE_MS = 1_000
const BODY_BYTES_MAX = 1_024

/** The body that answers an HTTP-01 challenge (RFC 8555 §8.1): for any token, with no state. */
export function answerChallenge(token: string, thumbprint: string): string {
  return `${token}.${thumbprint}`
}

/**
 * Fetches a challenge of our own making from the hostname's addresses, as an authority would, before one is asked to.
 * Any address that somebody else answers decides, since an authority may choose that one; else any that is ours. A redirect is not followed:
 * our edges send none here, so it is somebody else's. 12 seconds at most.
 */
export async function selfCheck(target: { hostname: Hostname; addresses: string[]; port: number; thumbprint: string }): Promise<SelfCheck> {
  for (let look = 1; ; look++) {
    const answers = await Promise.all(target.addresses.slice(0, ADDRESSES_MAX).map((address) => fetchChallenge({ ...target, address })))
    if (look === LOOKS_MAX || !answers.some(isPerhapsLate)) {
      return judgeLooks(
        answers.map((answer) => toLook(answer, target)),
        target.hostname,
        'The hostname must lead to our servers without a proxy or redirect in between.',
      )
    }
    await pause(LOOK_PAUSE_MS)
  }
}

/** An edge that has not yet heard of a new claim answers 404, and 503 while it can ask nobody: both for a second or two, as a rule. */
function isPerhapsLate(answer: Answer): boolean {
  return answer.kind === 'status' && (answer.status === 404 || answer.status === 503)
}

type Answer =
  | { kind: 'ours' }
  | { kind: 'other-text'; address: string }
  | { kind: 'status'; status: number; location?: string; address: string }
  | { kind: 'no-http'; address: string }
  | { kind: 'no-connection'; address: string; reason: string }

function toLook(answer: Answer, { hostname, port }: { hostname: Hostname; port: number }): Look {
  if (answer.kind === 'ours') return answer
  const where = `http://${hostname}/ (port ${port} of ${answer.address})`
  if (answer.kind === 'no-connection') return { kind: answer.kind, sentence: `${where}: ${answer.reason}` }
  return { kind: 'other', sentence: `${where} is answered by another server: ${describe(answer)}` }
}

function describe(answer: Exclude<Answer, { kind: 'ours' | 'no-connection' }>): string {
  switch (answer.kind) {
    case 'other-text':
      return 'it sends a text that is not ours'
    case 'no-http':
      return 'it does not speak HTTP'
    case 'status':
      return answer.location === undefined ? `it answers with status ${answer.status}` : `it redirects to ${answer.location.slice(0, 200)}`
  }
}

function fetchChallenge(target: { hostname: Hostname; address: string; port: number; thumbprint: string }): Promise<Answer> {
  const { hostname, address, port, thumbprint } = target
  const token = randomBytes(16).toString('base64url')
  const headers = { host: port === 80 ? hostname : `${hostname}:${port}`, 'user-agent': 'namesake self-check', connection: 'close' }
  return new Promise((resolve) => {
    const deadline = AbortSignal.timeout(LOOK_TIMEOUT_MS)
    const failed = (error: Error) => resolve(explain(error, address))
    request(
      { host: address, port, family: isIPv6(address) ? 6 : 4, path: CHALLENGE_PATH + token, headers, agent: false, signal: deadline },
      (answer) => {
        const { statusCode: status = 0 } = answer
        if (status !== 200) {
          answer.destroy()
          resolve({ kind: 'status', status, location: answer.headers.location, address })
          return
        }
        readStart(answer).then(
          (text) => resolve(text.trimEnd() === answerChallenge(token, thumbprint) ? { kind: 'ours' } : { kind: 'other-text', address }),
          failed,
        )
      },
    )
      .on('upgrade', ({ statusCode: status = 0 }, socket) => {
        socket.destroy()
        resolve({ kind: 'status', status, location: undefined, address })
      })
      .on('error', failed)
      .end()
  })
}

async function readStart(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) break
  }
  return Buffer.concat(chunks).toString()
}

function explain(error: Error & { code?: string }, address: string): Answer {
  if (error.code?.startsWith('HPE_')) return { kind: 'no-http', address }
  const timedOut = error.name === 'TimeoutError' || error.name === 'AbortError'
  const reason = timedOut ? `no answer within ${LOOK_TIMEOUT_MS / 1000} seconds` : explainConnection(error)
  return { kind: 'no-connection', address, reason }
}
