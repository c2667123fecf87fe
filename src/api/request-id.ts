import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type AddressSet, createAddressSet } from '../lib/addresses.ts'

const GIVEN = /^[\w.-]{8,64}$/

/** The id that follows a request through logs and answers: that of our own edge in front, else a new one. */
export function createRequestIds(trusted: AddressSet): (request: IncomingMessage) => string {
  const prefix = randomBytes(8).toString('hex')
  let count = 0
  return (request) => {
    const given = request.headers['x-request-id']
    if (typeof given === 'string' && GIVEN.test(given) && trusted.has(request.socket.remoteAddress ?? '')) return given
    count += 1
    return `${prefix}-${count.toString(36)}`
  }
}

/** Whose X-Forwarded-For and X-Request-Id are believed: this machine's own edge, and those named. */
export function createTrust(proxies: readonly string[]): AddressSet {
  return createAddressSet(['127.0.0.0/8', '::1', ...proxies])
}
