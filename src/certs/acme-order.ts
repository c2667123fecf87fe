import type { Hostname } from '../hostname.ts'
import { pause } from '../lib/back-off.ts'
import { type Authorization, type Directory, type Order, readAuthorization, readOrder, readUrl } from './acme-answers.ts'
import { explainAbort, type HttpAnswer, isLate } from './acme-http.ts'
import { type ChallengeSolver, IssueError, type IssueOptions } from './authority.ts'
import { answerChallenge } from './challenge.ts'
import { blameAccount, isAcmeError, kindOf, ownFault, refusal } from './problem.ts'

const POLLS_MAX = 100
const POLL_TIMEOUT_MS = 90_000
const FIRST_POLL_MS = 100
const POLL_MS_MAX = 5_000
const RETRY_AFTER_MAX_MS = 30_000
const REPLACES_REFUSED = ['alreadyReplaced', 'malformed', 'unauthorized']
const PASSING = ['connectionFailed', 'timeout', 'aborted', 'serverInternal', 'rateLimited', 'badNonce', 'accountDoesNotExist']
const GONE_STATUS = [404, 410]
const NOT_FOUND_PAUSES_MS = [250, 750, 2_000]
const CHAIN_TYPE = 'application/pem-certificate-chain'

/** One order's way of talking to the authority: signed by the account, under the order's signal. No payload: POST-as-GET. */
export type AcmeConversation = {
  host: string
  directory: Directory
  /** Of the account's key (RFC 7638). */
  thumbprint: string
  signal: AbortSignal
  post(url: string, payload?: object, accept?: string): Promise<HttpAnswer>
}

/** What is ordered; `csr` is base64url DER; the profile is asked for where the directory offers it. */
export type Wanted = {
  hostname: Hostname
  csr: string
  solver: ChallengeSolver
  profile?: string
  keepOrder?: ((opened: { url: string; expires: Date | undefined }) => Promise<void>) | undefined
  /** The URL of an order made before, with the key of `csr`. */
  resume?: string | undefined
} & Pick<IssueOptions, 'replaces' | 'onOrder' | 'onReopen' | 'onFinalize' | 'onCounted'>

type Opened = { url: string; order: Order }

/**
 * One order from beginning to end (RFC 8555 §7.4): order, prove control by the solver's challenge where the authority wants a proof, finalise, download.
 * One to be resumed goes on from wherever it stands. Resolves with what the authority sent as the chain, not yet looked at. Rejects with IssueError.
 */
export async function obtainChain(acme: AcmeConversation, wanted: Wanted): Promise<string> {
  const { url, order } = wanted.resume === undefined ? await openOrder(acme, wanted) : await reopen(acme, wanted.resume)
  if (wanted.resume === undefined) await wanted.keepOrder?.({ url, expires: order.expires })
  else wanted.onReopen?.()
  if (order.status === 'pending') for (const authorization of order.authorizations) await authorize(acme, wanted, authorization)
  const { certificate } = await patiently(acme, wanted, () => finalise(acme, wanted, url), isNotFound)
  if (!certificate) throw ownFault('malformedAnswer', `${acme.host} calls the order valid but names no certificate`)
  return (await patiently(acme, wanted, () => acme.post(certificate, undefined, CHAIN_TYPE), isWithheld)).text
}

/** Also of an order that has been finalised already. */
async function finalise(acme: AcmeConversation, wanted: Wanted, url: string): Promise<Order> {
  const ready = await pollOrder(acme, wanted, url, ['pending'])
  wanted.onFinalize?.()
  const finalized = ready.status === 'ready' ? await acme.post(ready.finalize, { csr: wanted.csr }) : undefined
  return pollOrder(acme, wanted, url, ['pending', 'ready', 'processing'], finalized)
}

/**
 * An authority of many machines may not find what another of them has just answered with: behind what `mayPass` it is asked a few times more. Rejects
 * with `certificateNotShown` when that was in vain, since nobody knows then whether there is a certificate.
 */
async function patiently<T>(
  { host, signal }: AcmeConversation,
  { hostname }: Wanted,
  ask: () => Promise<T>,
  mayPass: (error: unknown) => error is IssueError,
): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (!mayPass(error)) throw error
      const waitMs = NOT_FOUND_PAUSES_MS[tries]
      if (waitMs === undefined) throw notShown(error)
      await pause(waitMs, signal)
    }
  }

  function notShown(cause: IssueError) {
    const lead = `${host} does not show the certificate for ${hostname}, and it is looked for again by itself`
    return ownFault('certificateNotShown', `${lead}: ${cause.message}`, { cause, retryAfterS: cause.retryAfterS })
  }
}

function isNotFound(error: unknown): error is IssueError {
  if (!(error instanceof IssueError)) return false
  return isAcmeError(error, 'orderNotReady') || (isAcmeError(error, 'malformed') && error.problem.status === 404)
}

/**
 * Any 4xx: what becomes of an order that is being finalised stands in the order alone, whatever keeps that or its certificate from us. Who asks us to wait, or
 * for another nonce, has said what to do.
 */
function isWithheld(error: unknown): error is IssueError {
  if (!(error instanceof IssueError) || ['rateLimited', 'badNonce'].includes(kindOf(error))) return false
  const { status = 0 } = error.problem
  return status >= 400 && status < 500 && status !== 429
}

async function openOrder(acme: AcmeConversation, wanted: Wanted): Promise<Opened> {
  const { hostname, replaces, profile, onOrder, onCounted } = wanted
  const { newOrder, profiles, renewalInfo } = acme.directory
  const offered = profile !== undefined && profiles.includes(profile)
  const plain = { identifiers: [{ type: 'dns', value: hostname }], ...(offered && { profile }) }
  const post = async (payload: object) => {
    await onOrder?.()
    return acme.post(newOrder, payload)
  }
  const postPlain = async () => {
    if (replaces !== undefined) await onCounted?.()
    return post(plain)
  }
  const isRenewal = renewalInfo !== undefined && replaces !== undefined
  const posting = isRenewal ? post({ ...plain, replaces }).catch((error) => postWithout(error, postPlain)) : postPlain()
  const answer = await posting.catch(blameAccount)
  return { url: readUrl(answer.location, 'the Location of the order'), order: readOrder(answer) }
}

/** What the authority no longer knows, or has called invalid, is gone; while it merely does not answer, or only what stands in front of it, nobody knows. */
async function reopen(acme: AcmeConversation, url: string): Promise<Opened> {
  const before = `the order from before at ${acme.host}`
  const order = await acme
    .post(url)
    .then(readOrder)
    .catch((error) => {
      if (!(error instanceof IssueError) || isPassing(error)) throw error
      throw ownFault('orderGone', `${before} cannot be resumed`, { cause: error })
    })
  // Also where it says that the fault was its own: nothing comes of this one any more.
  if (order.status === 'invalid')
    throw ownFault('orderInvalid', `${before} is invalid`, { cause: order.error && refusal(`${acme.host} calls it so`, order.error) })
  return { url, order }
}

function isPassing(error: IssueError): boolean {
  const kind = kindOf(error)
  const { status = 0 } = error.problem
  const isForeign = kind === 'malformedAnswer' && status >= 400 && !GONE_STATUS.includes(status) // in the words of a gateway
  return PASSING.includes(kind) || status >= 500 || status === 429 || isForeign
}

/** A `replaces` that the authority refuses (it has a successor, is not known, is another account's) must not cost the renewal. */
function postWithout(error: unknown, postPlain: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
  if (!REPLACES_REFUSED.some((name) => isAcmeError(error, name))) throw error
  return postPlain()
}

/** Meets the solver's challenge. A proof still valid from before is enough. */
async function authorize(acme: AcmeConversation, { hostname, solver }: Wanted, url: string): Promise<void> {
  const look = () => acme.post(url)
  const before = readAuthorization(await look())
  if (before.status === 'valid') return
  if (before.status !== 'pending') throw notAuthorized(acme, hostname, before)
  const offered = before.challenges.find(({ type, token }) => type === solver.type && token !== '')
  if (!offered) throw ownFault('challengeNotOffered', `${acme.host} offers no ${solver.type.toUpperCase()} challenge for ${hostname}`)
  const challenge = { hostname, token: offered.token, keyAuthorization: answerChallenge(offered.token, acme.thumbprint) }
  try {
    await solver.present(challenge, acme.signal)
    if (offered.status === 'pending') await acme.post(offered.url, {})
    const after = await poll(acme, look, readAuthorization, ({ status }) => status === 'pending', { undecided: undecided(acme, hostname) })
    if (after.status !== 'valid') throw notAuthorized(acme, hostname, after)
  } finally {
    await solver.withdraw(challenge)
  }
}

/** The authority does its work: that it comes to no end is for this hostname alone. */
function undecided({ host }: AcmeConversation, hostname: Hostname): IssueError {
  return ownFault(
    'validationPending',
    `${host} has not yet said whether it could validate ${hostname}: look whether its DNS and its challenge are answered quickly from everywhere; it is tried again by itself`,
  )
}

function notAuthorized({ host }: AcmeConversation, hostname: Hostname, { status, challenges }: Authorization) {
  const problem = challenges.find(({ error }) => error)?.error
  const lead = `${host} could not validate ${hostname}`
  return problem ? refusal(lead, problem) : ownFault('malformedAnswer', `${lead}: it calls the authorization ${status} and gives no reason`)
}

async function pollOrder(
  acme: AcmeConversation,
  wanted: Wanted,
  url: string,
  pending: Order['status'][],
  first?: HttpAnswer,
): Promise<Order> {
  const look = () => patiently(acme, wanted, () => acme.post(url), isWithheld)
  const order = await poll(acme, look, readOrder, ({ status }) => pending.includes(status), { first })
  if (order.status !== 'invalid') return order
  const lead = `${acme.host} did not issue a certificate for ${wanted.hostname}`
  throw order.error ? refusal(lead, order.error) : ownFault('malformedAnswer', `${lead}: it calls the order invalid and gives no reason`)
}

/**
 * Looks until the resource has settled, ever more seldom, and no sooner than Retry-After asks (within bounds). `first` is an answer already
 * in hand; `undecided` what it rejects with, instead of `timeout`, when time is up and each look was answered.
 */
async function poll<T>(
  acme: AcmeConversation,
  look: () => Promise<HttpAnswer>,
  read: (answer: HttpAnswer) => T,
  isPending: (resource: T) => boolean,
  { first, undecided }: { first?: HttpAnswer | undefined; undecided?: IssueError },
): Promise<T> {
  const deadlineMs = performance.now() + POLL_TIMEOUT_MS
  let answer = first ?? (await look())
  for (let looks = 1; looks <= POLLS_MAX; looks++) {
    const resource = read(answer)
    if (!isPending(resource)) return resource
    const waitMs = waitBeforeNext(looks, answer.retryAfterS)
    if (performance.now() + waitMs > deadlineMs) break
    await pause(waitMs, acme.signal)
    if (acme.signal.aborted) throw (isLate(acme.signal) && undecided) || explainAbort(acme.signal)
    answer = await look()
  }
  throw undecided ?? ownFault('timeout', `${acme.host} did not settle the order within ${POLL_TIMEOUT_MS / 1000} seconds`)
}

function waitBeforeNext(looks: number, retryAfterS: number | undefined): number {
  const ownMs = Math.min(POLL_MS_MAX, FIRST_POLL_MS * 2 ** (looks - 1))
  if (retryAfterS === undefined) return ownMs
  return Math.min(RETRY_AFTER_MAX_MS, Math.max(ownMs, retryAfterS * 1000))
}
