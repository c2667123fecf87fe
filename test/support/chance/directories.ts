import { type Authority, type Challenge, type ChallengeSolver, IssueError, type IssueOptions } from '../../../src/certs/authority.ts'
import { ownFault, refusal } from '../../../src/certs/problem.ts'
import { type IssuanceLimit, type LimitScope, registeredDomainOf } from '../../../src/core/issuance-limits.ts'
import type { Hostname } from '../../../src/hostname.ts'
import type { Random } from '../../fuzz/random.ts'

/** What an authority has issued: its chain is its place in `issued`. */
export type Leaf = { serial: string; hostname: Hostname; keyPem: string; notBefore: Date; notAfter: Date; isReplaced: boolean }

/** Who orders: `pass` ends when the caller may go one step further. Nothing of one that is dead reaches anybody. */
export type Caller = { pass(): Promise<void>; readonly isDead: boolean }

type Order = { url: string; hostname: Hostname; status: 'pending' | 'valid' | 'invalid'; expiresAt: number; leaf?: Leaf; exempt: boolean }
type Counted = { scope: LimitScope; key: string; atMs: number }

export type DirectoryOptions = {
  name: string
  random: Random
  now(): Date
  limits: readonly IssuanceLimit[]
  lifetimeMs: number
  /** Whether it finds the answers of the hostname's challenges. */
  canValidate(hostname: Hostname): boolean
}

const SCOPES = ['account', 'domain', 'names', 'failures'] as const
const ORDER_KEPT_MS = 3 * 86_400_000
const ASK_AGAIN_S = 21_600
const ATTEMPT_MS_MAX = 75_000 // of the 150 seconds that two directories share

/**
 * An ACME directory behind our own interface, which stands still at every step of an order and then may be away, lose its answer, or refuse. It keeps the
 * orders, and its own account of its limits: an order beyond one is refused and told in `violations`.
 */
export class ChanceDirectory {
  readonly issued = new Map<string, Leaf>()
  readonly violations: string[] = []
  #isDown = false
  #isCalm = false
  #ordersMade = 0
  readonly #orders = new Map<string, Order>()
  readonly #counted: Counted[] = []
  readonly #options: DirectoryOptions

  constructor(options: DirectoryOptions) {
    this.#options = options
  }

  set(state: 'away' | 'there'): void {
    this.#isDown = state === 'away'
  }

  /** It is there, and nothing goes wrong any more. */
  heal(): void {
    this.#isDown = false
    this.#isCalm = true
  }

  /** As one process sees it. */
  for(caller: Caller): Authority {
    return {
      name: this.#options.name,
      thumbprint: 'of the account',
      issue: (hostname, options) => this.#issue(caller, hostname, options),
      renewalInfo: async (chainPem) => {
        await this.#step(caller)
        const leaf = this.issued.get(chainPem)
        if (!leaf) return { kind: 'none' }
        const middle = leaf.notBefore.getTime() + ((leaf.notAfter.getTime() - leaf.notBefore.getTime()) * 2) / 3
        const wish = this.#hurries(leaf) ? leaf.notBefore.getTime() : middle
        return { kind: 'window', start: new Date(wish), end: new Date(wish + 3_600_000), retryAfterS: ASK_AGAIN_S }
      },
    }
  }

  /** As one that it will revoke: one in eight. */
  #hurries({ serial }: Leaf): boolean {
    return !this.#isCalm && Number(serial.split(' ')[1]) % 8 === 0
  }

  async #issue(caller: Caller, hostname: Hostname, options: IssueOptions) {
    const lateAtMs = this.#options.now().getTime() + ATTEMPT_MS_MAX
    const step = async () => {
      await this.#step(caller)
      if (this.#options.now().getTime() > lateAtMs) throw ownFault('timeout', `${this.#options.name} took too long`)
    }
    await step()
    const order = options.resume ? this.#reopen(options.resume.orderUrl) : await this.#open(hostname, options, step)
    const keyPem = options.resume?.keyPem ?? `key of ${order.url}`
    if (options.resume) options.onReopen?.()
    else await options.keepOrder?.({ orderUrl: order.url, keyPem, expires: new Date(order.expiresAt) })
    if (order.status === 'pending') await this.#prove(order, options.solver, step)
    if (order.status === 'pending') {
      options.onFinalize?.()
      await step()
      this.#finalize(order, keyPem)
      this.#loseAnswer()
    }
    if (order.status === 'invalid') throw acmeError('serverInternal', `${order.url} came to nothing`)
    await step()
    const { notBefore, notAfter, serial, keyPem: certified } = order.leaf!
    if (certified !== keyPem) throw new Error(`${hostname}: the key of ${order.url} is another one`)
    return { chainPem: serial, keyPem, issuer: `CN=${this.#options.name}`, serial, notBefore, notAfter }
  }

  #reopen(url: string): Order {
    const order = this.#orders.get(url)
    if (!order || order.expiresAt <= this.#options.now().getTime()) throw ownFault('orderGone', `${url} is not known`)
    if (order.status === 'invalid') throw ownFault('orderInvalid', `${url} is invalid`)
    return order
  }

  async #open(hostname: Hostname, options: IssueOptions, step: () => Promise<void>): Promise<Order> {
    const { replaces, onOrder, onCounted } = options
    const predecessor = replaces === undefined ? undefined : this.issued.get(replaces)
    const exempt = predecessor !== undefined && !predecessor.isReplaced
    if (replaces !== undefined && !exempt) {
      await onOrder?.()
      await step()
      await onCounted?.()
    }
    await onOrder?.()
    await step()
    for (const scope of exempt ? (['failures'] as const) : SCOPES) this.#requireRoom(scope, hostname)
    if (!exempt) this.#count('account', hostname)
    this.#ordersMade += 1
    const expiresAt = this.#options.now().getTime() + ORDER_KEPT_MS
    const order: Order = { url: `${this.#options.name}/order/${this.#ordersMade}`, hostname, status: 'pending', expiresAt, exempt }
    this.#orders.set(order.url, order)
    if (exempt) predecessor.isReplaced = true
    this.#loseAnswer()
    return order
  }

  async #prove(order: Order, solver: ChallengeSolver | undefined, step: () => Promise<void>): Promise<void> {
    const { hostname, url } = order
    const challenge: Challenge = { hostname, token: url, keyAuthorization: url }
    await step()
    try {
      await solver?.present(challenge, new AbortController().signal)
      await step()
      if (this.#fails(0.05)) throw ownFault('validationPending', `${url} is not validated yet`)
      if (order.status !== 'pending' || (this.#options.canValidate(hostname) && !this.#fails(0.1))) return
      order.status = 'invalid'
      this.#count('failures', hostname)
      throw refusal('It could not validate', { type: 'urn:ietf:params:acme:error:unauthorized', detail: 'no answer' })
    } finally {
      await solver?.withdraw(challenge)
    }
  }

  /** Once, though an attempt and the one that has overtaken it may both ask for it. */
  #finalize(order: Order, keyPem: string): void {
    if (order.status !== 'pending') return
    if (this.#fails(0.03)) {
      order.status = 'invalid'
      return
    }
    const { hostname, exempt } = order
    for (const scope of exempt ? [] : (['domain', 'names'] as const)) {
      this.#requireRoom(scope, hostname)
      this.#count(scope, hostname)
    }
    const notBefore = this.#options.now()
    const serial = `${this.#options.name} ${this.issued.size + 1}`
    const notAfter = new Date(notBefore.getTime() + this.#options.lifetimeMs)
    order.leaf = { serial, hostname, keyPem, notBefore, notAfter, isReplaced: false }
    order.status = 'valid'
    this.issued.set(serial, order.leaf)
  }

  #count(scope: LimitScope, hostname: Hostname): void {
    this.#counted.push({ scope, key: keyOf(scope, hostname), atMs: this.#options.now().getTime() })
  }

  #requireRoom(scope: LimitScope, hostname: Hostname): void {
    const key = keyOf(scope, hostname)
    const limit = this.#options.limits.find((one) => one.scope === scope)
    if (!limit) return
    const sinceMs = this.#options.now().getTime() - limit.windowS * 1_000
    const used = this.#counted.filter((one) => one.scope === scope && one.key === key && one.atMs > sinceMs).length
    if (used < limit.max) return
    const words = `${scope} limit of ${limit.max} for ${hostname}`
    this.violations.push(`${this.#options.now().toISOString()} ${this.#options.name}: ${words}`)
    throw new IssueError(words, { type: 'urn:ietf:params:acme:error:rateLimited', detail: words }, { retryAfterS: 600 })
  }

  async #step(caller: Caller): Promise<void> {
    await caller.pass()
    const { random } = this.#options
    if (caller.isDead || this.#isDown) throw ownFault('connectionFailed', `${this.#options.name} does not answer`)
    if (!this.#fails(0.02)) return
    throw random.chance(0.5)
      ? acmeError('serverInternal', 'it is overloaded')
      : new IssueError('slow down', { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'slow down' }, { retryAfterS: 300 })
  }

  #fails(share: number): boolean {
    return !this.#isCalm && this.#options.random.chance(share)
  }

  #loseAnswer(): void {
    if (this.#fails(0.08)) throw ownFault('connectionFailed', 'the answer was lost')
  }
}

function keyOf(scope: LimitScope, hostname: Hostname): string {
  if (scope === 'account') return ''
  return scope === 'domain' ? registeredDomainOf(hostname) : hostname
}

function acmeError(type: string, detail: string): IssueError {
  return refusal('It refuses', { type: `urn:ietf:params:acme:error:${type}`, detail })
}
