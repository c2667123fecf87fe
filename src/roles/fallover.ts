import { type AcmeProblem, IssueError } from '../certs/authority.ts'
import { kindOf } from '../certs/problem.ts'

/**
 * What a refusal means for the same order elsewhere. `hostname`: another would find the same. `caa`: the customer's records forbid this
 * authority. `undecided`: this authority does not come to an end with it. `policy`: this authority does not want it. `limit`: not now. `account`: our account there cannot order. `outage`: it does not do its
 * work. `stopping`: this process ends, or another has taken over.
 */
export type RefusalClass = 'hostname' | 'caa' | 'undecided' | 'policy' | 'limit' | 'account' | 'outage' | 'passed-over' | 'stopping'

const CLASSES: Record<Exclude<RefusalClass, 'hostname'>, readonly string[]> = {
  caa: ['caa'],
  undecided: ['validationPending', 'certificateNotShown'],
  policy: [
    ...[
      'rejectedIdentifier',
      'unsupportedIdentifier',
      'badCSR',
      'badPublicKey',
      'badSignatureAlgorithm',
      'invalidProfile',
      'orderNotReady',
    ],
    ...['certificateMismatch', 'challengeNotOffered', 'orderGone', 'orderInvalid', 'malformed'],
  ],
  limit: ['rateLimited', 'noRoom'],
  account: [
    'userActionRequired',
    'externalAccountRequired',
    'accountDoesNotExist',
    'accountUnusable',
    'invalidContact',
    'unsupportedContact',
    'caFileInvalid',
  ],
  outage: ['serverInternal', 'badNonce', 'connectionFailed', 'timeout', 'malformedAnswer'],
  'passed-over': ['passedOver'],
  stopping: ['aborted', 'overtaken'],
}
const CLASS_OF = new Map(Object.entries(CLASSES).flatMap(([name, kinds]) => kinds.map((kind) => [kind, name as RefusalClass])))

// RFC 8555 §6.7: the errors that a challenge ends with.
const VALIDATION_FAILED = new Set(['unauthorized', 'dns', 'connection', 'incorrectResponse', 'tls', 'caa'])

// An order that was reopened and ends with one of these would do so forever.
const STUCK = ['timeout', 'malformedAnswer', 'validationPending', 'certificateNotShown']

// What whoever reads the failure can do most about stands first.
const USEFUL: readonly RefusalClass[] = ['hostname', 'caa', 'undecided', 'policy', 'limit', 'account', 'outage', 'passed-over', 'stopping']
const SENTENCE_CHARACTERS_MAX = 1_200
const OUTAGE_RETRY_S = 60
const RETRY_AFTER_S_MAX = 3_600 // where it is no limit: a page in an outage knows little of its end

/** One authority that was asked, or would have been. `isDown`: it does not answer others either. */
export type Refused = { directory: string; error: IssueError; isDown: boolean }

/**
 * Why no authority delivered. `outage`: none of them did its work, so the attempt says nothing about the hostname. `awaitsRoom`: the customer's CAA
 * records forbid all but one that was full.
 */
export class OrdersRefused extends IssueError {
  readonly outage: boolean
  readonly awaitsRoom: boolean

  constructor(
    message: string,
    problem: AcmeProblem,
    { outage, awaitsRoom, retryAfterS }: { outage: boolean; awaitsRoom: boolean; retryAfterS: number | undefined },
  ) {
    super(message, problem, { retryAfterS })
    this.name = 'OrdersRefused'
    this.outage = outage
    this.awaitsRoom = awaitsRoom
  }
}

export function classOf(error: IssueError): RefusalClass {
  return CLASS_OF.get(kindOf(error)) ?? 'hostname'
}

/** Whether the authority looked for the answer to a challenge and did not find it: with another type it may. */
export function isValidationFailure(error: IssueError): boolean {
  return VALIDATION_FAILED.has(kindOf(error))
}

/** Whether an open order is worth going on with later. A reopened one that is stuck or cannot be read is not; a 429 and a 5xx were not about the order. */
export function isResumable(error: IssueError, { wasReopened }: { wasReopened: boolean }): boolean {
  const { status = 0 } = error.problem
  const isOfOrder = status < 500 && status !== 429
  if (wasReopened && isOfOrder && STUCK.includes(kindOf(error))) return false
  return ['outage', 'undecided', 'limit', 'stopping'].includes(classOf(error))
}

/**
 * All refusals of an attempt as one: the problem of the one that its reader can do most about, in full, with every other under `attempts`;
 * its words first in the sentence. `full` is what to say of an authority that would have been asked before them if it had room. The next attempt is
 * when the first of them may be asked again.
 */
export function summarise(refusals: readonly Refused[], full?: string): OrdersRefused {
  const rank = ({ error }: Refused) => USEFUL.indexOf(classOf(error))
  const [best, ...others] = [...refusals].sort((a, b) => rank(a) - rank(b))
  const outage = refusals.every(({ isDown }) => isDown)
  const attempts = refusals.map(({ directory, error }) => ({ directory, problem: error.problem }))
  const problem = others.length === 0 ? best!.error.problem : { ...best!.error.problem, attempts }
  const fullOne = full !== undefined && classOf(best!.error) !== 'hostname' ? [full] : [] // what must be mended anyhow is not softened
  const also = [...others.map(({ error }) => error.message), ...fullOne].join(' – ')
  const message = `${best!.error.message}${also && ` – also: ${also}`}`.slice(0, SENTENCE_CHARACTERS_MAX)
  const awaitsRoom = full !== undefined && refusals.every(({ error }) => classOf(error) === 'caa')
  return new OrdersRefused(message, problem, { outage, awaitsRoom, retryAfterS: soonest(best!, refusals, outage) })
}

function soonest(best: Refused, refusals: readonly Refused[], outage: boolean): number | undefined {
  if (classOf(best.error) === 'hostname') return retryAfterS(best.error)
  const again = refusals.map(({ error }) => retryAfterS(error) ?? (outage ? OUTAGE_RETRY_S * (1 + Math.random()) : 0))
  const least = Math.min(...again)
  return least > 0 ? least : undefined
}

function retryAfterS(error: IssueError): number | undefined {
  if (classOf(error) === 'limit' || error.retryAfterS === undefined) return error.retryAfterS
  return Math.min(error.retryAfterS, RETRY_AFTER_S_MAX)
}
