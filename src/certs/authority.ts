import type { Hostname } from '../hostname.ts'

/** Who issues certificates: an ACME directory or the built-in CA. */
export interface Authority {
  /** The directory URL, or `local`: as in NAMESAKE_ACME_DIRECTORY. */
  readonly name: string
  /** The account key's thumbprint, which answers HTTP-01 challenges; null when the authority validates nothing. */
  readonly thumbprint: string | null
  /**
   * Obtains a certificate for one hostname, with a new key. The hostname's edges must already answer challenges.
   * `replaces` is the identifier of the certificate that this one renews (RFC 9773 §4.1); it is sent where the directory takes it.
   * Rejects with IssueError, also when the signal ends the attempt.
   */
  issue(hostname: Hostname, options: IssueOptions): Promise<IssuedCertificate>
  /**
   * When the authority wishes this certificate of its own to be renewed (RFC 9773 §4); `none` where it states no wishes. Rejects with
   * IssueError when no usable answer comes.
   */
  renewalInfo(chainPem: string, signal: AbortSignal): Promise<RenewalInfo>
  /**
   * By which names it appears in CAA records (RFC 8555 §7.1.1); undefined when it does not say. Absent: it looks at none. Rejects with
   * IssueError.
   */
  caaIdentities?(signal: AbortSignal): Promise<readonly string[] | undefined>
  /** The URL of our account there, as CAA records name it (RFC 8657 §3). Rejects with IssueError. */
  accountUrl?(signal: AbortSignal): Promise<string>
}

/** `retryAfterS`: when to ask again, between a minute and a day. `explanationUrl`: the authority's page on why, for people. */
export type RenewalInfo = { kind: 'window'; start: Date; end: Date; explanationUrl?: string; retryAfterS: number } | { kind: 'none' }

/** RFC 8555 §8.3 and §8.4, RFC 8737. */
export type ChallengeType = 'http-01' | 'dns-01' | 'tls-alpn-01'

/** `keyAuthorization` is RFC 8555 §8.1's. */
export type Challenge = { hostname: Hostname; token: string; keyAuthorization: string }

/** How one type of challenge is met. */
export type ChallengeSolver = {
  readonly type: ChallengeType
  /** Resolves when the authority would find the answer wherever it may look; rejects with IssueError when it never would. */
  present(challenge: Challenge, signal: AbortSignal): Promise<void>
  /** Called once for each `present`, whatever became of it. Never rejects. */
  withdraw(challenge: Challenge): Promise<void>
}

/** Every edge answers any token, so there is nothing to prepare. */
export const HTTP_01: ChallengeSolver = { type: 'http-01', async present() {}, async withdraw() {} }

export type IssueOptions = {
  signal: AbortSignal
  replaces?: string
  /** How control is proven; HTTP_01 unless told. */
  solver?: ChallengeSolver | undefined
  /**
   * Called before the order is sent, and awaited: from here on the authority counts it. Without a call it never heard of this hostname. Rejects to
   * have it not sent.
   */
  onOrder?: (() => Promise<void>) | undefined
  /** Called when the authority has shown the order that is resumed: a failure before says nothing of it, but for `orderGone` and `orderInvalid`. */
  onReopen?: (() => void) | undefined
  /** Called before the order is finalised, or when it is seen to have been: from here on the authority may count a certificate, whatever we hear of it. */
  onFinalize?: (() => void) | undefined
  /** Called when the authority has opened the order, and awaited before anything else is done with it. Must not reject. */
  keepOrder?: ((order: OpenOrder) => Promise<void>) | undefined
  /**
   * An order that `keepOrder` was given, to be brought to its end instead of a new one; `onOrder` is not called. Rejects with `orderGone` or `orderInvalid`
   * when there is nothing left to resume.
   */
  resume?: Pick<OpenOrder, 'orderUrl' | 'keyPem'> | undefined
  /**
   * Called before an order goes out without the `replaces` that was wanted, since the directory does not take it: it counts this order as any
   * other. Rejects to have it not sent.
   */
  onCounted?: (() => Promise<void>) | undefined
}

/** An order that is open at the authority, with the certificate's key. `expires` is the authority's word on how long, if it gave one. */
export type OpenOrder = { orderUrl: string; keyPem: string; expires: Date | undefined }

/** `chainPem` is the leaf and what leads to the root; `serial` is lower-case hex; `issuer` a distinguished name on one line. */
export type IssuedCertificate = { chainPem: string; keyPem: string; issuer: string; serial: string; notBefore: Date; notAfter: Date }

/** A problem document (RFC 7807; RFC 8555 §6.7), with every member that the authority sent. What we found ourselves is `urn:namesake:error:…`. */
export type AcmeProblem = {
  readonly type: string
  readonly detail?: string
  readonly status?: number
  readonly identifier?: { readonly type: string; readonly value: string }
  readonly subproblems?: readonly AcmeProblem[]
  readonly [member: string]: unknown
}

/** Why no certificate came. The message is one sentence that its reader can act on, with the authority's own words in it. */
export class IssueError extends Error {
  readonly problem: AcmeProblem
  /** When the authority says how long to wait. */
  readonly retryAfterS?: number

  constructor(message: string, problem: AcmeProblem, options: { retryAfterS?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.name = 'IssueError'
    this.problem = problem
    this.retryAfterS = options.retryAfterS
  }
}
