import { request } from 'node:https'
import { isIPv6 } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { ExactHostname } from '../hostname.ts'

/** `hostname` is what a visitor types; `serial` that of the certificate which the edge has for it. */
export type LiveTarget = { hostname: ExactHostname; addresses: readonly string[]; port: number; serial: string }

const ADDRESSES_MAX = 4
const ANSWER_TIMEOUT_MS = 5_000

/**
 * Asks the hostname for its page over HTTPS at each of its addresses, and says of the first that presents this certificate and answers, with
 * whatever status, that it was seen; else what was found, in a sentence. 5 seconds at most.
 */
export async function visitLive(target: LiveTarget): Promise<{ kind: 'seen' } | { kind: 'not-seen'; sentence: string }> {
  const reasons = await Promise.all(target.addresses.slice(0, ADDRESSES_MAX).map((address) => visit(address, target)))
  if (reasons.some((reason) => reason === undefined)) return { kind: 'seen' }
  const found = reasons.filter((reason) => reason !== undefined).join('; ') || 'it has no address'
  return { kind: 'not-seen', sentence: `Our own request to https://${target.hostname} did not come through: ${found}.` }
}

/** Resolves with undefined when all is as it should be, else with what is not. */
function visit(address: string, { hostname, port, serial }: LiveTarget): Promise<string | undefined> {
  const where = `port ${port} of ${address}`
  return new Promise((resolve) => {
    const sent = request(
      {
        method: 'HEAD',
        host: address,
        port,
        family: isIPv6(address) ? 6 : 4,
        path: '/',
        servername: hostname,
        headers: { host: port === 443 ? hostname : `${hostname}:${port}`, 'user-agent': 'namesake live-check', connection: 'close' },
        agent: false,
        rejectUnauthorized: false, // whose certificate it is, the serial number says, and the authority may be a private one
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      },
      (answer) => {
        answer.resume()
        resolve(presented === serial ? undefined : `${where} presents another certificate`)
        answer.destroy()
      },
    )
    let presented: string | undefined
    sent.on('socket', (socket) => {
      socket.on('secureConnect', () => {
        presented = (socket as TLSSocket).getPeerX509Certificate()?.serialNumber.toLowerCase()
      })
    })
    sent.on('error', (error) => {
      const isLate = error.name === 'TimeoutError' || error.name === 'AbortError'
      resolve(`${where}: ${isLate ? `no answer within ${ANSWER_TIMEOUT_MS / 1_000} seconds` : error.message}`)
    })
    sent.end()
  })
}
