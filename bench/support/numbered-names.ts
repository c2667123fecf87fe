import { type Hostname, parseHostname } from '../../src/hostname.ts'

export const DIGITS = 7

/** The hostname of this number: all of one length, below `zone`. */
export function nameAt(zone: string, number: number): Hostname {
  return parseHostname(`n${String(number).padStart(DIGITS, '0')}.${zone}`)
}

/** What `nameAt` made the hostname of. */
export function partsOf(hostname: Hostname): { number: number; zone: string } {
  return { number: Number(hostname.slice(1, 1 + DIGITS)), zone: hostname.slice(2 + DIGITS) }
}
