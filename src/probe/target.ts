import { parentOf } from './place.ts'

/**
 * The host name, in lower case, in the target of a CNAME that was entered as a website's address, in quotation marks or with a blank: each label as far as it
 * has what host names have.
 */
export function hostNameIn(target: string): string {
  return target
    .toLowerCase()
    .replace(/^(?:\\\d{3}|[^a-z0-9_])*(?:https?:\/\/)?/, '')
    .replace(/[^a-z0-9_.-][^.]*/g, '')
}

/** A target without the hostname's domain, or a part of that, at its end; undefined where it does not end so, or one label is left. */
export function withoutDomain(target: string, hostname: string): string | undefined {
  for (let domain = hostname; domain !== ''; domain = parentOf(domain)) {
    const rest = target.endsWith(`.${domain}`) ? target.slice(0, -domain.length - 1) : ''
    if (rest.includes('.')) return rest
  }
  return undefined
}

/** As its owner entered it: a byte that a host name does not have is escaped in a target (RFC 1035 §5.1). */
export function asEntered(target: string): string {
  return target.replace(/\\(\d{3})/g, (escaped, code) => (code >= 32 && code < 127 ? String.fromCharCode(code) : escaped))
}
