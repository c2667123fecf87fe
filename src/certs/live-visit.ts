import { type EventEmitter, once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { ExactHostname } from '../hostname.ts'
import { connectionTrouble } from '../lib/connection-trouble.ts'
import { contextForStrangers } from '../lib/stranger-context.ts'
import { lookThroughTls } from '../lib/tls-look.ts'

/**
 * `hostname` is what a visitor types; `serial` that of the certificate which the edge has for it. `proxyHeader`: the PROXY protocol is spoken, as by the
 * load balancer that the edge expects. `publicPort` is what visitors type, if it is another than `port`.
 */
export type LiveTarget = {
  hostname: ExactHostname
  addresses: readonly string[]
  port: number
  serial: string
  publicPort?: number
  proxyHeader?: boolean
}

/** `causes` are for the operator: what the system, with its codes, says went wrong at each address. */
export type LiveVisit = { kind: 'seen' } | { kind: 'not-seen'; sentence: string; causes: string[] }

const ADDRESSES_MAX = 4
const ANSWER_TIMEOUT_MS = 5_000
// Version 2, LOCAL: a connection of the proxy's own, which names nobody.
const PROXY_HEADER = Buffer.from([0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a, 0x20, 0x00, 0x00, 0x00])

/**
 * Asks the hostname for its page over HTTPS at each of its addresses, and says of the first that presents this certificate and answers, with
 * whatever status, that it was seen; else what was found, in a sentence. 5 seconds at most.
 */
export async function visitLive(target: LiveTarget): Promise<LiveVisit> {
  const enough = new AbortController()
  const signal = AbortSignal.any([AbortSignal.timeout(ANSWER_TIMEOUT_MS), enough.signal])
  try {
    await Promise.any(target.addresses.slice(0, ADDRESSES_MAX).map((address) => visit(address, target, signal)))
    return { kind: 'seen' }
  } catch (error) {
    const errors = (error as AggregateError).errors as Error[]
    const found = errors.map(({ message }) => message).join('; ') || 'it has no address'
    const causes = errors.map(({ cause }) => String(cause))
    return { kind: 'not-seen', sentence: `Our own request to https://${target.hostname} did not come through: ${found}.`, causes }
  } finally {
    enough.abort()
  }
}

/** Rejects with what is not as it should be. */
async function visit(address: string, target: LiveTarget, signal: AbortSignal): Promise<void> {
  const where = `port ${target.port} of ${address}`
  const socket = connect({ host: address, port: target.port })
  try {
    const presented = await ask(socket, target, signal)
    if (presented !== target.serial) throw new Error('it presents another certificate')
  } catch (error) {
    throw new Error(`${where}: ${inWords(error as NodeJS.ErrnoException)}`, { cause: error })
  } finally {
    socket.destroy()
  }
}

/** What the owner of a hostname reads in the place of a code. */
function inWords({ name, code, message }: NodeJS.ErrnoException): string {
  if (name === 'TimeoutError' || name === 'AbortError') return `no answer within ${ANSWER_TIMEOUT_MS / 1_000} seconds`
  if (code === undefined) return message // our own
  return connectionTrouble(code) ?? 'what answers there is no website' // as what Node's reader of HTTP does not understand
}

/** The serial number of the certificate with which an answer came. */
async function ask(socket: Socket, target: LiveTarget, signal: AbortSignal): Promise<string | undefined> {
  const { hostname, port, publicPort = port, proxyHeader } = target
  // `once` hears what goes wrong while it waits; what goes wrong after that is nobody's.
  const quiet = <T extends EventEmitter>(emitter: T): T => emitter.on('error', () => {})
  await once(quiet(socket), 'connect', { signal })
  if (proxyHeader) socket.write(PROXY_HEADER)
  // Whose certificate it is, the serial number says, and the authority may be a private one.
  const secure = quiet(lookThroughTls({ socket, servername: hostname, rejectUnauthorized: false, secureContext: contextForStrangers() }))
  await once(secure, 'secureConnect', { signal })
  const host = publicPort === 443 ? hostname : `${hostname}:${publicPort}`
  const headers = { host, 'user-agent': 'namesake live-check', connection: 'close' }
  const sent = quiet(request({ method: 'HEAD', path: '/', headers, createConnection: () => secure }))
  sent.end()
  const [answer] = (await once(sent, 'response', { signal })) as [IncomingMessage] // a 101 is none, and ends with the signal
  quiet(answer).resume()
  return secure.getPeerX509Certificate()?.serialNumber.toLowerCase()
}
