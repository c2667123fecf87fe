import { type Authority, type ChallengeSolver, HTTP_01, type IssuedCertificate, IssueError } from '../certs/authority.ts'
import { kindOf, ownFault } from '../certs/problem.ts'
import type { IssuancePermission } from '../core/certificates.ts'
import { saysDatabaseIsAway } from '../errors.ts'
import type { Hostname } from '../hostname.ts'
import type { CaaRecords } from '../probe/caa.ts'
import type { AuthorityHealth } from './authority-health.ts'
import { solversPermitted } from './caa-permission.ts'
import { classOf, isResumable, isValidationFailure, type Refused } from './fallover.ts'
import type { IssuanceLedger } from './issuance-ledger.ts'
import type { KeptOrders } from './kept-orders.ts'

/** What a renewal's order names as replaced, to the one authority that knows it (RFC 9773 §5). */
export type Replaced = { directory: string | null; certId: string | undefined }

/** What an order goes out with: the room that was taken for it, where more is to be had, and what it goes by. */
export type OrderTerms = {
  permission: IssuancePermission
  ledger: IssuanceLedger
  replaced?: Replaced | undefined
  /** How control may be proven, first preferred; by HTTP-01 unless told. */
  solvers?: readonly ChallengeSolver[] | undefined
  health?: AuthorityHealth | undefined
  kept?: KeptOrders | undefined
  /** The CAA records that count for the hostname; without it none are looked at. */
  caaOf?: ((hostname: Hostname) => Promise<CaaRecords>) | undefined
  /** Whether another worker has begun a later attempt: then nothing is sent any more, and what is open is that one's. Never rejects. */
  isOvertaken?: (() => Promise<boolean>) | undefined
}

export type AuthorityOrderTerms = OrderTerms & { caa: CaaRecords; signal: AbortSignal; insist: boolean }
export type AuthorityOutcome = { kind: 'issued'; issued: IssuedCertificate } | { kind: 'no-room' } | ({ kind: 'refused' } & Refused)

/** The orders of one attempt at one authority. */
export type AuthorityOrder = {
  run(): Promise<AuthorityOutcome>
  /** Another authority has delivered: what `run` left open is nobody's any more. */
  abandon(): Promise<void>
}

/** `asked`: the directory wished for this renewal and does not count it, as long as its order names what it replaces. */
type Room = { orderId: string | null; asked?: boolean }
/** `mayBeIssued`: for all that is known of it. */
type Resumed = { orderUrl: string; keyPem: string; mayBeIssued: boolean }

const VALIDATIONS_MAX = 2 // a failed validation is tried once more in another way
// By this type it never came to a validation, so the same order can be proven by another.
const UNMET = ['challengeNotOffered', 'challengeNotAnswered', 'challengeNotServed', 'notDelegated']
const GONE = ['orderGone', 'orderInvalid']
const LIMITED_S = 600 // where the authority does not say for how long: others under its limit need not find out one by one
const CHALLENGES: readonly ChallengeSolver[] = [HTTP_01]

export function createAuthorityOrder(authority: Authority, hostname: Hostname, terms: AuthorityOrderTerms): AuthorityOrder {
  const { permission, ledger, replaced, solvers = CHALLENGES, health, kept, isOvertaken = async () => false, caa, signal, insist } = terms
  const { name: directory } = authority
  const { projectId } = permission
  const holdsRoom = directory === permission.directory && !permission.resumes // that room is the open order's
  const refused = (error: IssueError): AuthorityOutcome => {
    const isDown = ['outage', 'account', 'passed-over'].includes(classOf(error)) && health?.isUp(directory) === false
    return { kind: 'refused', directory, error, isDown }
  }
  let left: (Room & Resumed) | undefined
  const takeRoom = () => ledger.take(directory, hostname, permission)

  /** Ends before anything was sent: the room that waited for this order is free again, unless an open order has it. */
  async function withdraw(error: IssueError, isOpen: boolean): Promise<IssueError> {
    if (holdsRoom && !isOpen) await ledger.settle(permission.orderId, 'not-sent')
    return error
  }

  async function run(): Promise<AuthorityOutcome> {
    const found = await kept?.find(hostname, { directory, projectId })
    const open = found && { ...found, mayBeIssued: true }
    const standing = health?.ask(directory, { insist }) ?? { kind: 'up' }
    if (standing.kind === 'pass') return refused(await withdraw(passedOver(authority, standing.retryAfterS), open !== undefined))
    let outcome: Awaited<ReturnType<typeof attempt>> | undefined
    try {
      outcome = await attempt(open)
    } finally {
      health?.note(directory, healthOf(outcome))
    }
    return outcome instanceof IssueError ? refused(outcome) : outcome
  }

  async function attempt(open: (Room & Resumed) | undefined): Promise<Exclude<AuthorityOutcome, { kind: 'refused' }> | IssueError> {
    const usable = await solversPermitted(authority, { hostname, found: caa, solvers, signal })
    if (usable instanceof IssueError) return withdraw(usable, open !== undefined)
    const room = open ?? (holdsRoom ? permission : await takeRoom())
    if (!room) return { kind: 'no-room' }
    const result = await tryEach(usable, room, open)
    if (!kept) await abandon()
    return result instanceof IssueError ? result : { kind: 'issued', issued: result }
  }

  async function tryEach(
    usable: readonly ChallengeSolver[],
    first: Room,
    open: Resumed | undefined,
  ): Promise<IssuedCertificate | IssueError> {
    let [room, resume]: [Room | undefined, Resumed | undefined] = [first, open]
    let last: IssueError | undefined
    let validations = 0
    for (let n = 0; n < usable.length && validations < VALIDATIONS_MAX && room; ) {
      const result = await orderOnce(usable[n]!, room, resume)
      if (!(result instanceof IssueError)) return result
      const isGone = resume !== undefined && GONE.includes(kindOf(result))
      if (!isGone || last === undefined) last = result
      if (!isGone && !isValidationFailure(result) && !isUnmet(result)) break
      if (!isGone) n++
      if (isValidationFailure(result)) validations++
      resume = left
      if (n < usable.length && validations < VALIDATIONS_MAX) room = left ?? (await takeRoom())
    }
    return last!
  }

  async function orderOnce(
    solver: ChallengeSolver,
    { orderId, asked }: Room,
    resume: Resumed | undefined,
  ): Promise<IssuedCertificate | IssueError> {
    const replaces = replaced?.directory === directory ? replaced.certId : undefined
    let sent = resume !== undefined
    let opened: Pick<Resumed, 'orderUrl' | 'keyPem'> | undefined = resume
    let mayBeIssued = resume?.mayBeIssued ?? false
    let wasReopened = false
    left = undefined
    const onOrder = async () => {
      if (!(await ledger.send(orderId))) throw overtaken(hostname)
      sent = true
    }
    const onCounted = async () => {
      if (!asked) return
      asked = false
      ;({ orderId } = await ledger.takeOrdinary(orderId, directory, hostname, permission))
    }
    try {
      if (await isOvertaken()) throw overtaken(hostname)
      if (resume) await ledger.goOn(orderId)
      else if (replaces === undefined) await onCounted()
      const issued = await authority.issue(hostname, {
        ...{ signal, solver, resume, onOrder, onReopen: () => (wasReopened = true), onFinalize: () => (mayBeIssued = true), onCounted },
        ...(replaces !== undefined && { replaces }),
        async keepOrder(order) {
          opened = order
          await kept?.keep(hostname, { ...order, directory, projectId, orderId })
        },
      })
      await ledger.settle(orderId, 'issued')
      return issued
    } catch (caught) {
      const error = (await isOvertaken()) ? overtaken(hostname) : caught
      const staysOpen =
        error instanceof IssueError ? isUnmet(error) || (kept && isResumable(error, { wasReopened })) : kept && saysDatabaseIsAway(error) // by way of which challenges are shown
      if (staysOpen && opened) left = { ...opened, orderId, mayBeIssued }
      else {
        if (!mayBeIssued || saysNothingCame(error)) await ledger.settle(orderId, sent ? outcomeOf(error) : 'not-sent')
        if (opened) await kept?.forget(hostname, opened.orderUrl)
      }
      if (!(error instanceof IssueError)) throw error
      await correct(error)
      return error
    }
  }

  async function correct(error: IssueError): Promise<void> {
    if (kindOf(error) !== 'rateLimited') return
    const detail = error.problem.detail ?? error.message
    await ledger.correct({ directory, hostname, detail, retryAfterS: error.retryAfterS ?? LIMITED_S })
  }

  async function abandon(): Promise<void> {
    if (!left) return
    const { orderId, orderUrl, mayBeIssued } = left
    left = undefined
    if (!mayBeIssued) await ledger.settle(orderId, 'refused')
    await kept?.forget(hostname, orderUrl)
  }

  return { run, abandon }
}

function passedOver({ name }: Authority, retryAfterS: number): IssueError {
  const host = URL.parse(name)?.host ?? name
  return ownFault(
    'passedOver',
    `${host} does not answer at present, so nothing is ordered there; it is tried again by itself within minutes`,
    {
      retryAfterS,
    },
  )
}

function overtaken(hostname: Hostname): IssueError {
  return ownFault('overtaken', `another worker has begun a later attempt for ${hostname}; this one ends`)
}

function isUnmet(error: IssueError): boolean {
  return UNMET.includes(kindOf(error))
}

/** What an attempt says of the authority itself. Our own reading of CAA records says nothing. */
function healthOf(outcome: { kind: 'issued' | 'no-room' } | IssueError | undefined): 'answered' | 'outage' | 'unknown' {
  if (outcome === undefined) return 'unknown'
  if (!(outcome instanceof IssueError)) return outcome.kind === 'issued' ? 'answered' : 'unknown'
  const found = classOf(outcome)
  if (found === 'stopping' || found === 'caa' || kindOf(outcome) === 'noRoom') return 'unknown'
  return found === 'outage' || found === 'account' ? 'outage' : 'answered'
}

/** Whether the authority has told us that there is no certificate. Else an order that was finalised goes on counting as one. */
function saysNothingCame(error: unknown): boolean {
  return (
    error instanceof IssueError &&
    !['certificateMismatch', 'certificateNotShown', 'orderGone'].includes(kindOf(error)) &&
    !['outage', 'stopping'].includes(classOf(error))
  )
}

function outcomeOf(error: unknown): 'invalid' | 'refused' {
  if (!(error instanceof IssueError)) return 'refused'
  const reason = error.cause instanceof IssueError ? error.cause : error
  return isValidationFailure(reason) ? 'invalid' : 'refused'
}
