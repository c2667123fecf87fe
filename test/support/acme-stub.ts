import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChallengeType } from '../../src/certs/authority.ts'
import { createTestCa } from './certificates.ts'
import { createStubAccounts, type StubAccount } from './stub-accounts.ts'
import { createStubCa, type StubCertificate } from './stub-ca.ts'
import { createHolds, type Hold, type HoldPoint } from './stub-holds.ts'
import { createStubCounters, type StubLimits } from './stub-limits.ts'
import { type StubReach, validateChallenge } from './stub-validation.ts'

const DAY_MS = 86_400_000

/** What a request is for; faults are named by it. */
export type StubStep =
  | 'directory'
  | 'nonce'
  | 'account'
  | 'new-order'
  | 'authorization'
  | 'challenge'
  | 'order'
  | 'finalize'
  | 'certificate'
  | 'renewal-info'

/**
 * `outage`: the connection is cut. `malformed`: the text is sent with status 200 (or `status`). `problem`: an ACME error by its short name.
 * `order-failed`: at `finalize`, the order becomes invalid for such an error.
 */
export type StubFault =
  | { kind: 'order-failed'; name: string }
  | { kind: 'outage' }
  | { kind: 'malformed'; text: string; status?: number }
  | { kind: 'problem'; name: string; status?: number; detail?: string; retryAfterS?: number }

export type StubReply = { status?: number; headers?: Record<string, string>; body?: unknown }

/** What it validates for real is what it can reach: `httpPort`, `tlsPort`, `dnsServer`. */
export type StubOptions = StubReach & {
  now?: () => Date
  /** Lifetime of what is ordered without a profile; 90 days. */
  lifetimeDays?: number
  /** Offered in the directory's meta; the lifetime that each gives, in days. */
  profiles?: Record<string, number>
  /** false: the directory offers no renewalInfo. A function answers in the stub's place. */
  renewalInfo?: false | ((certificate: StubCertificate | undefined, certId: string) => StubReply)
  limits?: StubLimits
  /** Looks at a finalised order that still say `processing`, with this Retry-After if given. */
  processingLooks?: number
  processingRetryAfterS?: number
  /** What each authorization offers; http-01 alone by default. */
  challenges?: readonly ChallengeType[]
  /** Key id → base64url HMAC key. When given, an account needs one of them. */
  eab?: Record<string, string>
  /** The host in every URL of it; `localhost`. Only for the ledger: a directory on this machine has no limits. */
  host?: string
}

export type StubOrder = {
  account: string
  names: string[]
  profile?: string
  replaces?: string
  status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid'
}

export type AcmeStub = {
  directoryUrl: string
  caFile: string
  rootPem: string
  /** Every order that was let in, in order. */
  orders: readonly StubOrder[]
  /** How many orders met a limit. */
  rateLimited(): number
  /** Requests so far for a step, failed ones included. */
  count(step: StubStep): number
  /** Makes a step fail, `times` times or until healed. */
  fail(step: StubStep, fault: StubFault, times?: number): void
  heal(): void
  /** Makes the next request for a step stand still there. */
  hold(step: StubStep, point: HoldPoint): Hold
  stop(): Promise<void>
}

type Live = StubOrder & { looksLeft: number; certificate?: StubCertificate; error?: object; tokens: Map<string, string> }
type Call = { step: StubStep; id: string; account: StubAccount | undefined; payload: Record<string, unknown> | undefined }

/** A small ACME server of our own (RFC 8555, RFC 9773, profiles) for what Debian's pebble lacks. It checks signatures and nonces. */
export async function startAcmeStub(options: StubOptions = {}): Promise<AcmeStub> {
  const {
    now = () => new Date(),
    lifetimeDays = 90,
    profiles = {},
    processingLooks = 0,
    challenges = ['http-01'],
    host = 'localhost',
  } = options
  const [ca, tls] = [await createStubCa(now), await createTestCa()]
  const { chainPem, keyPem } = await tls.issue(['localhost', host])
  const folder = mkdtempSync(join(tmpdir(), 'namesake-acme-stub-'))
  chmodSync(folder, 0o755) // the service user reads the CA file
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, tls.certPem)

  const counters = createStubCounters(options.limits ?? {}, now)
  const orders: Live[] = []
  const issued = new Map<string, StubCertificate>()
  const replaced = new Set<string>()
  const nonces = new Set<string>()
  const accounts = createStubAccounts({
    urlOf: (thumbprint) => url('account', thumbprint),
    takeNonce: (nonce) => nonces.delete(nonce),
    eab: options.eab,
  })
  const holds = createHolds<StubStep>()
  const counts = new Map<StubStep, number>()
  const faults = new Map<StubStep, { fault: StubFault; left: number }>()
  let refusedByLimit = 0

  const server = createServer({ key: keyPem, cert: chainPem }, (request, response) => {
    const [, step, id = ''] = request.url!.split('/') as [string, StubStep, string?]
    counts.set(step, (counts.get(step) ?? 0) + 1)
    const fault = takeFault(step)
    if (fault?.kind === 'outage') return void response.destroy()
    void (async () => {
      if ((await holds.pass(step, 'received')) === 'drop') return void response.destroy()
      const reply = await replyTo(request, step, id, fault)
      if ((await holds.pass(step, 'answered')) === 'drop') return void response.destroy()
      const type = (reply.status ?? 200) >= 400 ? 'application/problem+json' : 'application/json'
      response.writeHead(reply.status ?? 200, { 'content-type': type, 'replay-nonce': newNonce(), ...reply.headers })
      response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {}))
    })().catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = (step: string, id?: string) =>
    `https://${host}:${(server.address() as AddressInfo).port}/${step}${id === undefined ? '' : `/${id}`}`

  function newNonce(): string {
    const nonce = randomBytes(12).toString('base64url')
    nonces.add(nonce)
    return nonce
  }

  function takeFault(step: StubStep): StubFault | undefined {
    const found = faults.get(step)
    if (found && --found.left <= 0) faults.delete(step)
    return found?.fault
  }

  async function replyTo(request: IncomingMessage, step: StubStep, id: string, fault: StubFault | undefined): Promise<StubReply> {
    const signed = request.method === 'POST' ? await readSigned(request, step) : undefined
    if (signed?.kind === 'refused') return problem(signed.name, signed.detail)
    if (fault?.kind === 'malformed') return { status: fault.status ?? 200, body: fault.text }
    if (fault?.kind === 'problem') return problem(fault.name, fault.detail ?? 'the stub was told to refuse', fault)
    if (fault?.kind === 'order-failed') failOrder(orders[Number(id)]!, fault.name)
    return answer({ step, id, account: signed?.account, payload: signed?.payload })
  }

  function failOrder(order: Live, name: string): void {
    order.status = 'invalid'
    order.error = problem(name, 'error finalizing order').body as object
  }

  async function readSigned(request: IncomingMessage, step: StubStep) {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    return accounts.read(Buffer.concat(chunks).toString(), {
      path: request.url!,
      isAccount: step === 'account' && !request.url!.slice(1).includes('/'),
    })
  }

  async function answer({ step, id, account, payload }: Call): Promise<StubReply> {
    if (step === 'directory') return { body: directory() }
    if (step === 'nonce') return {}
    if (step === 'renewal-info') return renewalInfo(id)
    if (!account) return problem('malformed', 'this wants a signature', { status: 405 })
    if (step === 'account') return register(account, payload)
    if (step === 'new-order') return openOrder(account, payload ?? {})
    const [at = '', name = '', type = ''] = id.split('~')
    const order = orders[Number(at)]
    if (!order || order.account !== account.url) return problem('malformed', 'no such order', { status: 404 })
    switch (step) {
      case 'authorization':
        return { body: authorization(at, name, order) }
      case 'challenge':
        return validate({ at, name, type: type as ChallengeType }, order, account)
      case 'finalize':
        return finalize(at, order, String(payload?.csr))
      case 'order':
        return lookAt(at, order)
      case 'certificate':
        return { headers: { 'content-type': 'application/pem-certificate-chain' }, body: order.certificate?.chainPem ?? '' }
    }
  }

  function directory() {
    const described = Object.fromEntries(Object.entries(profiles).map(([name, days]) => [name, `${days} days`]))
    return {
      ...{ newNonce: url('nonce'), newAccount: url('account'), newOrder: url('new-order') },
      ...(options.renewalInfo !== false && { renewalInfo: url('renewal-info') }),
      meta: {
        ...(Object.keys(profiles).length > 0 && { profiles: described }),
        ...(options.eab && { externalAccountRequired: true }),
      },
    }
  }

  function register(account: StubAccount, payload: Record<string, unknown> | undefined): StubReply {
    const outcome = accounts.register(account, payload)
    if (outcome.kind === 'refused') return problem(outcome.name, outcome.detail, { status: 401 })
    return { status: outcome.kind === 'new' ? 201 : 200, headers: { location: account.url }, body: { status: 'valid' } }
  }

  function openOrder(account: StubAccount, payload: { identifiers?: { value: string }[]; profile?: string; replaces?: string }): StubReply {
    const { identifiers = [], profile, replaces } = payload
    const names = identifiers.map(({ value }) => value)
    if (profile !== undefined && profiles[profile] === undefined) return problem('invalidProfile', `no profile ${profile}`)
    if (replaces !== undefined && !issued.has(replaces)) return problem('malformed', 'replaces names no certificate of ours')
    if (replaces !== undefined && replaced.has(replaces)) return problem('alreadyReplaced', 'it has a successor', { status: 409 })
    const limit = replaces === undefined ? counters.order(account.url, names) : undefined // renewals by ARI are exempt
    if (limit) {
      refusedByLimit++
      return problem('rateLimited', limit.detail, { status: 429, retryAfterS: limit.retryAfterS })
    }
    const tokens = new Map(names.map((name) => [name, randomBytes(16).toString('base64url')]))
    const order: Live = { account: account.url, names, status: 'pending', looksLeft: processingLooks, tokens }
    orders.push(Object.assign(order, profile !== undefined && { profile }, replaces !== undefined && { replaces }))
    const at = String(orders.length - 1)
    return { status: 201, headers: { location: url('order', at) }, body: describe(at, order) }
  }

  function describe(at: string, order: Live) {
    return {
      ...{ status: order.status, identifiers: order.names.map((value) => ({ type: 'dns', value })), finalize: url('finalize', at) },
      authorizations: order.names.map((name) => url('authorization', `${at}~${name}`)),
      ...(order.status === 'valid' && { certificate: url('certificate', at) }),
      ...(order.error && { error: order.error }),
    }
  }

  function authorization(at: string, name: string, { status, tokens, error }: Live) {
    const settled = status === 'pending' || status === 'invalid' ? status : 'valid'
    const offered = challenges.map((type) => ({
      ...{ type, url: url('challenge', `${at}~${name}~${type}`), token: tokens.get(name), status: settled },
      ...(error && { error }),
    }))
    return { status: settled, identifier: { type: 'dns', value: name }, challenges: offered }
  }

  async function validate(call: { at: string; name: string; type: ChallengeType }, order: Live, account: StubAccount): Promise<StubReply> {
    const { at, name, type } = call
    const token = order.tokens.get(name)!
    const challenge = () => ({ body: authorization(at, name, order).challenges.find((one) => one.type === type) })
    if (order.status !== 'pending') return challenge()
    const proven = await validateChallenge(type, { hostname: name, token, keyAuthorization: `${token}.${account.thumbprint}` }, options)
    order.status = proven ? 'ready' : 'invalid'
    if (!proven) {
      counters.failedValidation(name)
      order.error = problem('unauthorized', `the ${type} challenge of ${name} was not answered`, { status: 403 }).body as object
    }
    return challenge()
  }

  async function finalize(at: string, order: Live, csr: string): Promise<StubReply> {
    if (order.status === 'invalid') return { body: describe(at, order) }
    if (order.status !== 'ready') return problem('orderNotReady', `the order is ${order.status}`, { status: 403 })
    const certificate = await ca.sign(csr, order.profile === undefined ? lifetimeDays : profiles[order.profile]!)
    if (!certificate || certificate.names.join() !== [...order.names].sort().join()) return problem('badCSR', 'not the names of the order')
    order.certificate = certificate
    issued.set(certIdOf(certificate), certificate)
    if (order.replaces !== undefined) replaced.add(order.replaces)
    order.status = order.looksLeft > 0 ? 'processing' : 'valid'
    return { body: describe(at, order) }
  }

  function lookAt(at: string, order: Live): StubReply {
    if (order.status === 'processing' && order.looksLeft-- <= 0) order.status = 'valid'
    const retryAfterS = order.status === 'processing' ? options.processingRetryAfterS : undefined
    return { body: describe(at, order), ...(retryAfterS !== undefined && { headers: { 'retry-after': String(retryAfterS) } }) }
  }

  function certIdOf({ serial }: StubCertificate): string {
    return `${ca.keyId}.${Buffer.from(serial, 'hex').toString('base64url')}`
  }

  function renewalInfo(certId: string): StubReply {
    const certificate = issued.get(certId)
    if (options.renewalInfo) return options.renewalInfo(certificate, certId)
    if (!certificate) return problem('malformed', 'no such certificate', { status: 404 })
    const { notBefore, notAfter } = certificate
    const middleMs = notBefore.getTime() + ((notAfter.getTime() - notBefore.getTime()) * 2) / 3
    const suggestedWindow = { start: new Date(middleMs - DAY_MS), end: new Date(middleMs + DAY_MS) }
    return { headers: { 'retry-after': '21600' }, body: { suggestedWindow } }
  }

  return {
    directoryUrl: url('directory'),
    caFile,
    rootPem: ca.rootPem,
    orders,
    hold: holds.hold,
    rateLimited: () => refusedByLimit,
    count: (step) => counts.get(step) ?? 0,
    fail: (step, fault, times = Infinity) => void faults.set(step, { fault, left: times }),
    heal: () => faults.clear(),
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function problem(name: string, detail: string, { status = 400, retryAfterS }: { status?: number; retryAfterS?: number } = {}): StubReply {
  const headers: Record<string, string> = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }
  return { status, headers, body: { type: `urn:ietf:params:acme:error:${name}`, detail, status } }
}
