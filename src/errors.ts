/**
 * Every failure that a caller may see and act on. The closed list is a contract: a code keeps its meaning for ever.
 * No HTTP here: only `api/problems.ts` knows which status a code has.
 */
export const ERROR_CODES = [
  'hostname_invalid',
  'hostname_reserved',
  'wildcards_not_enabled',
  'hostname_claimed',
  'domain_not_found',
  'metadata_invalid',
  'certificate_invalid',
  'body_invalid',
  'query_invalid',
  'token_invalid',
  'token_not_found',
  'session_required',
  'magic_link_invalid',
  'connect_link_invalid',
  'cross_site',
  'role_insufficient',
  'member_not_found',
  'last_owner',
  'changed_meanwhile',
  'project_not_empty',
  'brand_invalid',
  'error_page_invalid',
  'cname_target_invalid',
  'mail_unavailable',
  'plan_limit',
  'plan_unknown',
  'project_not_found',
  'name_invalid',
  'email_invalid',
  'slug_invalid',
  'slug_taken',
  'upstream_invalid',
  'upstream_forbidden',
  'unsupported_media_type',
  'payload_too_large',
  'rate_limited',
  'route_not_found',
  'method_not_allowed',
  'request_malformed',
  'database_unavailable',
  'internal',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

/** A refusal with a stable code and one sentence that says what to do. Thrown in core, translated in one place. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  /** When the same may be tried again, if that is known. */
  readonly retryAfterS: number | undefined

  constructor(code: ErrorCode, message: string, options?: ErrorOptions & { retryAfterS?: number }) {
    super(message, options)
    this.name = 'ServiceError'
    this.code = code
    this.retryAfterS = options?.retryAfterS
  }
}

/** Whether it is the loss of the database, of which everything says the same until it is back. */
export function saysDatabaseIsAway(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'database_unavailable'
}
