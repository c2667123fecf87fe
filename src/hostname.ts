import { isIPv4 } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'
import { ServiceError } from './errors.ts'

declare const parsed: unique symbol
declare const exact: unique symbol

/**
 * What a project claims and a certificate is for: a fully-qualified domain name, ASCII (IDNA done), lower case, at least two labels, no port, no
 * final dot; or a wildcard, `*.` before such a name, which stands for every name with one label in the star's place (RFC 6125 §6.4.3).
 */
export type Hostname = string & { readonly [parsed]: true }

/** A Hostname that is no wildcard: the only kind that a visitor, a URL or a resolver can name. */
export type ExactHostname = Hostname & { readonly [exact]: true }

export type HostnameReading = { kind: 'hostname'; hostname: ExactHostname } | { kind: 'invalid'; reason: string }
export type ClaimNameReading = { kind: 'hostname'; hostname: Hostname } | { kind: 'invalid'; reason: string }

const HOSTNAME_BYTES_MAX = 253 // RFC 1035 §3.1, in text form without the final dot
const LABEL_BYTES_MAX = 63
const STAR = '*.'
const HYPHEN = 45
const DOT = 46
const DIGIT_0 = 48
const DIGIT_9 = 57
const LETTER_A = 97
const LETTER_Z = 122
const WILDCARD_HERE = 'a star stands only for the whole first label, as in *.customer.com, and only where domains are claimed'

/** The only way to get an ExactHostname. Throws `hostname_invalid` with a reason that its owner can act on. */
export function parseHostname(text: string): ExactHostname {
  return accept(readHostname(text))
}

/** As parseHostname, but takes a wildcard too: for what names a claim, not what was visited. */
export function parseClaimName(text: string): Hostname {
  return accept(readClaimName(text))
}

/** As parseClaimName, but a refusal is a value. */
export function readClaimName(text: string): ClaimNameReading {
  if (!text.startsWith(STAR)) return readHostname(text)
  const base = readHostname(text.slice(STAR.length))
  if (base.kind === 'invalid') return invalid(`${quote(text)} is no wildcard, which is *. before a hostname: ${base.reason}`)
  const wildcard = `${STAR}${base.hostname}` as Hostname
  // One letter in the star's place must still fit.
  return wildcard.length <= HOSTNAME_BYTES_MAX ? { kind: 'hostname', hostname: wildcard } : invalid(tooLong(wildcard))
}

export function isWildcard(hostname: Hostname): boolean {
  return hostname.startsWith(STAR)
}

/** The name behind a wildcard's star; any other name as it is. */
export function withoutStar(hostname: Hostname): ExactHostname {
  return (isWildcard(hostname) ? hostname.slice(STAR.length) : hostname) as ExactHostname
}

/**
 * For people: `xn--bcher-kva.example (bücher.example)`, or the name alone where there is nothing to add; of an e-mail address, its domain in brackets. Never the
 * letters of its owner alone, since those of two scripts can look the same.
 */
export function inBothForms(name: string): string {
  const unicode = unicodeOf(name.slice(name.lastIndexOf('@') + 1))
  return unicode === undefined ? name : `${name} (${unicode})`
}

/** A name in the letters of its owner, as bücher.example; undefined where those are what the DNS has, or where they cannot be told. */
export function unicodeOf(name: string): string | undefined {
  const labels = name.split('.').map((label) => (label.startsWith('xn--') && isALabel(label) ? domainToUnicode(label) : label))
  const unicode = labels.join('.')
  return unicode === name ? undefined : unicode
}

/** The one wildcard that covers a hostname: a star in the place of its first label. A wildcard's own is itself. */
export function wildcardOver(hostname: Hostname): Hostname {
  return `*${hostname.slice(hostname.indexOf('.'))}` as Hostname
}

/**
 * Whether the text is a hostname as it stands, which almost every name that arrives is; what has two hyphens in a row may be punycode and needs a closer
 * look. Each request asks, and a pattern would take twice as long.
 */
export function isPlainHostname(text: string): text is ExactHostname {
  const { length } = text
  if (length > HOSTNAME_BYTES_MAX) return false
  let labelAt = 0
  let before = DOT
  for (let at = 0; at < length; at += 1) {
    const code = text.charCodeAt(at)
    if (!isLetter(code) && !isDigit(code)) {
      // A label has a letter or digit at both ends, and no two hyphens in a row here.
      if ((code !== DOT && code !== HYPHEN) || before === DOT || before === HYPHEN || at - labelAt > LABEL_BYTES_MAX) return false
      if (code === DOT) labelAt = at + 1
    }
    before = code
  }
  return labelAt > 0 && before !== HYPHEN && length - labelAt <= LABEL_BYTES_MAX && isLetter(text.charCodeAt(labelAt))
}

function isLetter(code: number): boolean {
  return code >= LETTER_A && code <= LETTER_Z
}

function isDigit(code: number): boolean {
  return code >= DIGIT_0 && code <= DIGIT_9
}

/** As parseHostname, but a refusal is a value: for doors where bad input is ordinary (SNI, Host). */
export function readHostname(text: string): HostnameReading {
  if (isPlainHostname(text)) return { kind: 'hostname', hostname: text }
  const shape = misshapen(text)
  if (shape) return invalid(shape)
  const ascii = toAscii(text.endsWith('.') ? text.slice(0, -1) : text)
  if (ascii === undefined) return invalid(`${quote(text)} is not a valid internationalized domain name`)
  const problem = ascii.split('.').length < 2 ? singleLabel(text) : firstBadLabel(ascii)
  return problem ? invalid(problem) : { kind: 'hostname', hostname: ascii as ExactHostname }
}

function accept<Name extends Hostname>(reading: { kind: 'hostname'; hostname: Name } | { kind: 'invalid'; reason: string }): Name {
  if (reading.kind === 'hostname') return reading.hostname
  throw new ServiceError('hostname_invalid', reading.reason)
}

function invalid(reason: string): { kind: 'invalid'; reason: string } {
  return { kind: 'invalid', reason }
}

function misshapen(text: string): string | undefined {
  if (text === '') return 'a hostname is required, for example shop.customer.com'
  if (text.length > 1_000) return `a hostname has at most ${HOSTNAME_BYTES_MAX} characters`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\s\u0000-\u001f\u007f]/.test(text)) return 'a hostname contains no spaces or control characters'
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return `${quote(text)} is a URL: give the hostname alone, without ${text.split('://')[0]}://`
  if (/[/\\?#@]/.test(text)) return `${quote(text)} has a path or other parts of a URL: give the hostname alone`
  if (isIPv4(text) || text.startsWith('[') || (text.match(/:/g) ?? []).length > 1) return 'an IP address cannot be claimed: give a hostname'
  if (text.includes(':')) return `${quote(text)} has a port: give the hostname alone`
  if (text.includes('*')) return WILDCARD_HERE
  if (text.includes('_')) return `${quote(text)} has an underscore: hostnames consist of letters, digits and hyphens`
  if (text.includes('%')) return `${quote(text)} has a percent sign: hostnames consist of letters, digits and hyphens`
  return undefined
}

function toAscii(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII
  if (/^[\u0000-\u007f]*$/.test(text)) return text.toLowerCase()
  return domainToASCII(text) || undefined
}

function tooLong(name: string): string {
  return `a hostname has at most ${HOSTNAME_BYTES_MAX} characters, this one has ${name.length}`
}

function singleLabel(text: string): string {
  return `${quote(text)} has only one label: a hostname has at least two, as in shop.customer.com`
}

function firstBadLabel(ascii: string): string | undefined {
  if (ascii.length > HOSTNAME_BYTES_MAX) return tooLong(ascii)
  const labels = ascii.split('.')
  for (const label of labels) {
    if (label === '') return 'a hostname has no empty label: look for two dots in a row, or a dot in front'
    if (label.length > LABEL_BYTES_MAX) return `each part between dots has at most ${LABEL_BYTES_MAX} characters: ${quote(label)}`
    if (!/^[a-z0-9-]+$/.test(label)) return `hostnames consist of letters, digits and hyphens: ${quote(label)} has something else`
    if (label.startsWith('-') || label.endsWith('-')) return `a part between dots cannot begin or end with a hyphen: ${quote(label)}`
    // RFC 5891 §4.2.3.1: "--" in third and fourth place is kept for A-labels; authorities refuse everything else there.
    if (label.slice(2, 4) === '--' && !isALabel(label)) return noALabel(label)
  }
  if (/^(\d+|0x[0-9a-f]*)$/.test(labels.at(-1)!)) return `${quote(ascii)} ends in a number: that is read as an IP address`
  return undefined
}

function noALabel(label: string): string {
  if (label.startsWith('xn--')) return `${quote(label)} is not valid punycode`
  return `a part between dots has no hyphens as its third and fourth character, which are kept for international names: ${quote(label)}`
}

/** Whether a label that is ASCII already stands for another that is not: domainToASCII would let any ASCII pass. */
function isALabel(label: string): boolean {
  const unicode = domainToUnicode(label)
  return unicode !== label && domainToASCII(unicode) === label
}

function quote(text: string): string {
  return `"${text.length > 80 ? `${text.slice(0, 77)}...` : text}"`
}
