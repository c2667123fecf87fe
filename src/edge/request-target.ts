import { isSameAuthority } from './host.ts'

const ABSOLUTE_FORM = /^(https?):\/\/([^/?#]+)([^#]*)$/i

/**
 * The target in origin form, or `*` with OPTIONS; undefined when it is neither. An absolute form must name the same authority as Host
 * (RFC 9112 §3.2.2 lets it win, but two truths are one too many); with OPTIONS and nothing behind the authority it is `*` (§3.2.4).
 * Its characters are looked at before: see `isTarget`.
 */
export function readTarget(method: string, raw: string, host: string): string | undefined {
  if (raw.startsWith('/')) return raw
  if (raw === '*') return method === 'OPTIONS' ? raw : undefined
  const absolute = ABSOLUTE_FORM.exec(raw)
  if (!absolute) return undefined
  const [, scheme = '', authority = '', path = ''] = absolute
  if (authority !== host && !isSameAuthority(authority, host, scheme)) return undefined
  if (path === '' && method === 'OPTIONS') return '*'
  return path.startsWith('/') ? path : `/${path}`
}

/** The authority in an absolute form, which a request without Host is for (RFC 9112 §3.2.2); empty in any other target. */
export function authorityIn(raw: string): string {
  return ABSOLUTE_FORM.exec(raw)?.[2] ?? ''
}
