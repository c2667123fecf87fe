import { type AcmeProblem, IssueError } from './authority.ts'

const SENTENCE_CHARACTERS_MAX = 600
export const ACME_ERROR = 'urn:ietf:params:acme:error:'
const OWN_FAULT = 'urn:namesake:error:'
const PASSING = ['rateLimited', 'badNonce', 'serverInternal']
// These say themselves what is wrong with an account.
const OF_THE_ACCOUNT = ['externalAccountRequired', 'userActionRequired', 'accountDoesNotExist', 'invalidContact', 'unsupportedContact']

/** What we find wrong ourselves, where the authority said nothing. The names are stored and shown: they keep their meaning. */
export type OwnFault =
  | 'connectionFailed' // no connection to the authority, or not a trusted one
  | 'timeout' // the authority, or the order as a whole, took too long
  | 'aborted' // this process is stopping
  | 'overtaken' // another worker has begun a later attempt
  | 'malformedAnswer' // no ACME, or not what RFC 8555 says
  | 'caFileInvalid' // NAMESAKE_ACME_CA_FILE cannot be used
  | 'accountUnusable' // the authority refuses to make, find or bind our account, has deactivated it, or does not let it order
  | 'challengeNotOffered' // the authority offers no challenge that we can meet
  | 'notDelegated' // the challenge's name does not lead to our zone
  | 'challengeNotServed' // our own name servers do not answer with it
  | 'challengeNotAnswered' // our servers do not answer the challenge at the hostname's addresses
  | 'validationPending' // the authority answers, and has not said whether it could validate the hostname
  | 'certificateNotShown' // the authority was to finalise an order, and does not show it or does not hand its certificate out
  | 'certificateMismatch' // the certificate is not the one that was ordered
  | 'orderGone' // an order from before cannot be resumed
  | 'orderInvalid' // an order from before has been ended by the authority, without a certificate
  | 'caa' // the customer's CAA records forbid it: nobody was asked
  | 'passedOver' // the authority does not answer for now: it was not asked

export function ownFault(
  fault: OwnFault,
  sentence: string,
  options: { retryAfterS?: number; cause?: unknown; status?: number } = {},
): IssueError {
  const detail = toStorable(sentence)
  const { status } = options
  return new IssueError(detail, { type: `${OWN_FAULT}${fault}`, detail, ...(status !== undefined && { status }) }, options)
}

/** The authority's refusal: its document in full, its words in the sentence. `lead` says what was being done, without a final colon. */
export function refusal(lead: string, problem: AcmeProblem, retryAfterS?: number): IssueError {
  const words = [problem.detail ?? problem.type, ...(problem.subproblems ?? []).map(inOneLine)].join('; ')
  return new IssueError(toStorable(`${lead}: ${words}`.slice(0, SENTENCE_CHARACTERS_MAX)), problem, { retryAfterS })
}

/** Whether a failure is the ACME error of that name (RFC 8555 §6.7), as in `badNonce`. */
export function isAcmeError(error: unknown, name: string): boolean {
  return error instanceof IssueError && error.problem.type === ACME_ERROR + name
}

/** Throws the failure; `unauthorized` where no challenge was met yet as the account's fault, and not that of the hostname (RFC 8555 §6.7, §7.3.6). */
export function blameAccount(error: unknown): never {
  throw error instanceof IssueError && isAcmeError(error, 'unauthorized') ? accountUnusable(error) : error
}

/** As blameAccount, where no hostname was named either: what an authority refuses for good then, such as a binding that it does not take, it refuses to the account. */
export function blameAccountAlone(error: unknown): never {
  throw isFinalRefusal(error) && !OF_THE_ACCOUNT.some((name) => isAcmeError(error, name)) ? accountUnusable(error) : error
}

/** Whether the authority has understood what it was asked, and would refuse it again. A URL at which nothing is any more has judged nothing. */
export function isFinalRefusal(error: unknown): error is IssueError {
  if (!(error instanceof IssueError) || !error.problem.type.startsWith(ACME_ERROR)) return false
  const { status = 0 } = error.problem
  return status >= 400 && status < 500 && ![404, 429].includes(status) && !PASSING.includes(kindOf(error))
}

function accountUnusable({ message, problem, retryAfterS }: IssueError): IssueError {
  return new IssueError(message, { ...problem, type: `${OWN_FAULT}accountUnusable` }, { retryAfterS })
}

/** The last part of a problem's type: `rateLimited`, `timeout`. Of a compound problem, that of its first part (RFC 8555 §6.7.1). */
export function kindOf({ problem }: IssueError): string {
  const { type, subproblems = [] } = problem
  return (type === `${ACME_ERROR}compound` ? (subproblems[0]?.type ?? type) : type).split(':').at(-1)!
}

/** Takes a parsed problem document as it is, but for members that are null; undefined when it is none. A missing type means about:blank (RFC 7807 §3.1). */
export function readProblem(document: unknown, status?: number): AcmeProblem | undefined {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return undefined
  const members: Record<string, unknown> = Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null))
  const { type = 'about:blank', detail, subproblems = [] } = members
  if (typeof type !== 'string' || (detail !== undefined && typeof detail !== 'string') || !Array.isArray(subproblems)) return undefined
  if (!subproblems.every((one) => readProblem(one))) return undefined
  return { ...members, type, ...(status === undefined ? {} : { status }) }
}

/** Authorities quote what strange servers sent them; PostgreSQL takes neither NUL nor half a surrogate pair. */
export function toStorable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

function inOneLine({ identifier, detail, type }: AcmeProblem): string {
  return [identifier?.value, detail ?? type].filter(Boolean).join(' – ')
}
