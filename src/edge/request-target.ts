const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)([^#]*)$/i

/**
 * The target in origin form, or `*` with OPTIONS; undefined when it is neither. An absolute form must name the same authority as Host
 * (RFC 9112 §3.2.2 lets it win, but two truths are one too many); with OPTIONS and nothing behind the authority it is `*` (§3.2.4).
 * Its characters are looked at before: see `isTarget`.
 */
export function readTarget(method: string, raw: string, host: string): string | undefined {
  if (raw.startsWith('/')) return raw
  if (raw === '*') return method === 'OPTIONS' ? raw : undefined
  const absolute = ABSOLUTE_FORM.exec(raw)
  if (!absolute || absolute[1]!.toLowerCase() !== host.toLowerCase()) return undefined
  if (absolute[2] === '' && method === 'OPTIONS') return '*'
  return absolute[2]!.startsWith('/') ? absolute[2]! : `/${absolute[2]!}`
}
