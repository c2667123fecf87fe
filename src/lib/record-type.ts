/** A type of DNS record as people read it. An alias that may stand at a domain itself has two names, and a form of a DNS provider shows one of them. */
export function recordTypeShown(type: string): string {
  return type === 'ALIAS' ? 'ALIAS or ANAME' : type
}
