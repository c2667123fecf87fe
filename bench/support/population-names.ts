import { type Hostname, parseHostname } from '../../src/hostname.ts'

export const DIGITS = 7
export const STRIDE = 7_654_321 // prime to 10, so that the numbers of seven digits come in another order, each once
const HOSTNAMES_PER_CERTIFICATE = 10

/** The n-th claimed hostname, from 0. All are of one length; neighbours in number are none by name, as in life. */
export function hostnameAt(n: number): Hostname {
  return parseHostname(`www.c${String((n * STRIDE) % 10 ** DIGITS).padStart(DIGITS, '0')}.example`)
}

/** The n-th claimed hostname that has a certificate, from 0. */
export function certifiedAt(n: number): Hostname {
  return hostnameAt(n * HOSTNAMES_PER_CERTIFICATE)
}

/** How many of so many hostnames have a certificate. */
export function certificatesAmong(hostnames: number): number {
  return Math.ceil(hostnames / HOSTNAMES_PER_CERTIFICATE)
}
