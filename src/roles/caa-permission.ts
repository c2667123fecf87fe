import { type Authority, type ChallengeSolver, IssueError } from '../certs/authority.ts'
import { ownFault } from '../certs/problem.ts'
import { type Hostname, isWildcard } from '../hostname.ts'
import { type CaaFinding, type CaaRecords, judgeCaa } from '../probe/caa.ts'
import { caaIssuersOf } from './service-probe.ts'

const ASKING_TIMEOUT_MS = 20_000

/** What to say of an authority before it is ordered from, given the CAA records that count. */
export type CaaQuestion = { hostname: Hostname; found: CaaRecords; solvers: readonly ChallengeSolver[]; signal: AbortSignal }

/**
 * The solvers that the customer's CAA records let this authority use, or why it may not issue: `caa`, with the record as it stands and the
 * one to add. What DNS or the directory does not say forbids nothing; the authority itself decides then.
 */
export async function solversPermitted(authority: Authority, question: CaaQuestion): Promise<readonly ChallengeSolver[] | IssueError> {
  const { hostname, found, solvers } = question
  if (found.kind !== 'records' || !authority.caaIdentities) return solvers
  const signal = AbortSignal.any([question.signal, AbortSignal.timeout(ASKING_TIMEOUT_MS)])
  const issuers = (await known(() => authority.caaIdentities!(signal))) ?? caaIssuersOf(authority.name)
  if (issuers.length === 0) return solvers
  const namesAccount = found.records.some(({ value }) => /accounturi/i.test(value))
  const accountUrl = namesAccount && authority.accountUrl ? await known(() => authority.accountUrl!(signal)) : undefined
  const wildcard = isWildcard(hostname)
  const challenges = solvers.map(({ type }) => type)
  const finding = judgeCaa(found.records, { issuers, wildcard, accountUrl, challenges })
  if (finding.kind === 'forbids') return forbidden({ hostname, finding, issuer: issuers[0]!, challenges })
  const methods = finding.kind === 'allows' ? finding.methods : undefined
  return methods ? solvers.filter(({ type }) => methods.includes(type)) : solvers
}

async function known<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof IssueError)) throw error
    return undefined // the order that follows says it better
  }
}

type Forbidden = { hostname: Hostname; finding: Extract<CaaFinding, { kind: 'forbids' }>; issuer: string; challenges: readonly string[] }

function forbidden({ hostname, finding, issuer, challenges }: Forbidden): IssueError {
  const { at, because, tag, methods = [] } = finding
  const wanted = `0 ${tag} "${issuer}"`
  const stands = `${finding.found.length > 1 ? 'The CAA records' : 'The CAA record'} of ${at} (${finding.found.slice(0, 4).join(', ')})`
  switch (because) {
    case 'issuer':
      return ownFault(
        'caa',
        `${stands} does not let ${issuer} issue certificates for ${hostname}: add a CAA record with the value ${wanted} at ${at}.`,
      )
    case 'account':
      return ownFault(
        'caa',
        `${stands} lets only another account of ${issuer} issue for ${hostname}: add a CAA record with the value ${wanted} at ${at}.`,
      )
    case 'method':
      return ownFault(
        'caa',
        `The CAA record of ${at} lets ${issuer} validate ${hostname} by ${methods.join(', ') || 'no method'} alone: add the record 0 ${tag} "${issuer}; validationmethods=${challenges.join(',')}" there.`,
      )
    case 'not-understood':
      return ownFault(
        'caa',
        `${stands} has a critical property that certificate authorities do not understand, so none may issue for ${hostname}: remove it, or its flag 128, at ${at}.`,
      )
  }
}
