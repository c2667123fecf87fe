import { withoutStar } from './dns-names.ts'

// Bootstring as RFC 3492 §5 sets it for punycode. Browsers have no function for this direction.
const BASE = 36
const T_MIN = 1
const T_MAX = 26
const SKEW = 38
const DAMP = 700
const BIAS_FIRST = 72
const FIRST = 128
const LAST = 0x10ffff
const PREFIX = 'xn--'
const DIGITS = 'abcdefghijklmnopqrstuvwxyz0123456789'

/**
 * A hostname in the letters of its owner, as bücher.example; undefined where those are the letters that the DNS has. Nobody is to be shown this alone: letters
 * of two scripts can look the same. The browser's own reader of addresses must lead back to the name in the DNS.
 */
export function unicodeOf(hostname: string): string | undefined {
  if (!hostname.includes(PREFIX)) return undefined
  const labels = hostname.split('.').map((label) => (label.startsWith(PREFIX) ? decode(label.slice(PREFIX.length)) : label))
  const name = labels.join('.')
  const url = `https://${withoutStar(name)}/`
  return URL.canParse(url) && new URL(url).hostname === withoutStar(hostname) ? name : undefined
}

/** For a sentence: `xn--bcher-kva.example (bücher.example)`, or the name alone where there is nothing to add. */
export function inBothForms(name: string): string {
  const spelt = unicodeOf(name)
  return spelt === undefined ? name : `${name} (${spelt})`
}

/** RFC 3492 §6.2. What is no punycode comes back as something that leads nowhere. */
function decode(coded: string): string {
  const dash = coded.lastIndexOf('-')
  const points = Array.from(coded.slice(0, Math.max(0, dash)), (letter) => letter.charCodeAt(0))
  let point = FIRST
  let place = 0
  let bias = BIAS_FIRST
  for (let at = dash + 1; at < coded.length; ) {
    const before = place
    for (let k = BASE, weight = 1; ; k += BASE) {
      const digit = DIGITS.indexOf(coded[at++] ?? '-')
      if (digit === -1) return ''
      place += digit * weight
      const threshold = Math.min(T_MAX, Math.max(T_MIN, k - bias))
      if (digit < threshold) break
      weight *= BASE - threshold
    }
    const length = points.length + 1
    bias = adapt(place - before, length, before === 0)
    point += Math.floor(place / length)
    if (point > LAST) return ''
    place %= length
    points.splice(place, 0, point)
    place += 1
  }
  return String.fromCodePoint(...points)
}

/** RFC 3492 §6.1. */
function adapt(change: number, length: number, isFirst: boolean): number {
  let delta = Math.floor(change / (isFirst ? DAMP : 2))
  delta += Math.floor(delta / length)
  let k = 0
  for (; delta > ((BASE - T_MIN) * T_MAX) / 2; k += BASE) delta = Math.floor(delta / (BASE - T_MIN))
  return k + Math.floor(((BASE - T_MIN + 1) * delta) / (delta + SKEW))
}
