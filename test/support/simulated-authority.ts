import { type Authority, IssueError } from '../../src/certs/authority.ts'
import { fractionOf } from '../../src/certs/certificate.ts'
import { ownFault } from '../../src/certs/problem.ts'
import type { Hostname } from '../../src/hostname.ts'
import { createStubCounters, type StubLimits } from './stub-limits.ts'

const DAY_MS = 86_400_000
const WINDOW_SHARE = 1 / 45 // of the lifetime: two days of 90
const ASK_AGAIN_S = 20 * 86_400 // a real one wishes to be asked each few hours, and almost always says the same again

export type SimulatedAuthority = Authority & {
  /** Orders that were let in. */
  orders(): number
  /** The problems of the orders that met a limit of its own. */
  rateLimited: readonly string[]
}

export type SimulatedAuthorityOptions = {
  name: string
  now(): Date
  lifetimeDaysOf(hostname: Hostname): number
  limits: StubLimits
  /** Whether it states when to renew, and does not count renewals that name what they replace (RFC 9773 §5). */
  renewalInfo: boolean
  isDown(): boolean
  /** The share of validations that fail for no lasting reason. */
  failingShare: number
}

type Leaf = { notBefore: Date; notAfter: Date; replaced: boolean }

/**
 * An authority without the conversation: the ACME stub's counters and refusals behind our own interface, on the given clock. What it issues
 * is no X.509: its chain is the serial number.
 */
export function createSimulatedAuthority(options: SimulatedAuthorityOptions): SimulatedAuthority {
  const { name, now, lifetimeDaysOf, renewalInfo, isDown } = options
  const counters = createStubCounters(options.limits, now)
  const leaves = new Map<string, Leaf>()
  const rateLimited: string[] = []
  let attempts = 0

  const requireReachable = () => {
    if (isDown()) throw ownFault('connectionFailed', `no connection to ${new URL(name).host}: connect ECONNREFUSED`)
  }
  const acmeError = (type: string, detail: string, retryAfterS?: number) =>
    new IssueError(`${name} refused: ${detail}`, { type: `urn:ietf:params:acme:error:${type}`, detail }, { retryAfterS })

  return {
    name,
    thumbprint: 'simulated',
    orders: () => leaves.size,
    rateLimited,
    async issue(hostname, { replaces, onOrder }) {
      await onOrder?.()
      requireReachable()
      const predecessor = replaces === undefined ? undefined : leaves.get(replaces)
      const exempt = renewalInfo && predecessor !== undefined && !predecessor.replaced
      const limit = exempt ? undefined : counters.order('the account', [hostname])
      if (limit) {
        rateLimited.push(`${now().toISOString()} ${hostname}: ${limit.detail}`)
        throw acmeError('rateLimited', limit.detail, limit.retryAfterS)
      }
      attempts += 1
      if (fractionOf(`attempt ${attempts} for ${hostname}`) < options.failingShare) {
        counters.failedValidation(hostname)
        throw acmeError('unauthorized', `the challenge of ${hostname} was not answered`)
      }
      if (predecessor) predecessor.replaced = true
      const serial = attempts.toString(16).padStart(8, '0')
      const notAfter = new Date(now().getTime() + lifetimeDaysOf(hostname) * DAY_MS)
      leaves.set(serial, { notBefore: now(), notAfter, replaced: false })
      return { chainPem: serial, keyPem: '', issuer: 'CN=Simulated', serial, notBefore: now(), notAfter }
    },
    async renewalInfo(chainPem) {
      requireReachable()
      const leaf = leaves.get(chainPem)
      if (!renewalInfo || !leaf) return { kind: 'none' }
      const lifetimeMs = leaf.notAfter.getTime() - leaf.notBefore.getTime()
      const middleMs = leaf.notBefore.getTime() + (lifetimeMs * 2) / 3
      const moment = (ms: number) => new Date(Math.round(ms))
      const [start, end] = [moment(middleMs - lifetimeMs * WINDOW_SHARE), moment(middleMs + lifetimeMs * WINDOW_SHARE)]
      return { kind: 'window', start, end, retryAfterS: ASK_AGAIN_S }
    },
  }
}
