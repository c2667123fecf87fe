import { toASCII, toUnicode } from 'punycode/'
import { withoutStar } from './dns-names.ts'

const PREFIX = 'xn--'

/**
 * A hostname in the letters of its owner, as bücher.example; undefined where those are the letters that the DNS has. Nobody is to be shown this alone: letters
 * of two scripts can look the same. The browser's own reader of addresses must lead back to the name in the DNS.
 */
export function unicodeOf(hostname: string): string | undefined {
  if (!hostname.includes(PREFIX)) return undefined
  const name = decode(hostname)
  const url = `https://${withoutStar(name)}/`
  return URL.canParse(url) && new URL(url).hostname === withoutStar(hostname) && name !== hostname ? name : undefined
}

/** For a sentence: `xn--bcher-kva.example (bücher.example)`, or the name alone where there is nothing to add; of an e-mail address, its domain in brackets. */
export function inBothForms(name: string): string {
  const spelt = unicodeOf(name.slice(name.lastIndexOf('@') + 1))
  return spelt === undefined ? name : `${name} (${spelt})`
}

/** An e-mail address with its domain as the DNS has it, as the API answers it. Some browsers give a page that of what is typed, some the letters. */
export function withAsciiDomain(address: string): string {
  return toASCII(address)
}

/** Browsers have no function for this direction. */
function decode(hostname: string): string {
  try {
    return toUnicode(hostname)
  } catch {
    return hostname // no punycode
  }
}
