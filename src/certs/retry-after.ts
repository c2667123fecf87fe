/** Seconds from now that a Retry-After field asks for (RFC 9110 §10.2.3: seconds or a date); undefined when absent or unreadable. */
export function readRetryAfter(field: string | undefined, now: Date): number | undefined {
  if (field === undefined) return undefined
  if (/^\d{1,9}$/.test(field)) return Number(field)
  const date = field.endsWith(' GMT') ? Date.parse(field) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - now.getTime()) / 1000))
}
