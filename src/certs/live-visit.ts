import { type EventEmitter, once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import type { ExactHostname } from '../hostname.ts'

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

const ADDRESSES_MAX = 4
const ANSWER_TIMEOUT_MS = 5_000
// Version 2, LOCAL: a connection of the proxy's own, which names nobody.
const PROXY_HEADER = Buffer.from([0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a, 0x20, 0x00, 0x00, 0x00])

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
async function visit(address: string, target: LiveTarget): Promise<string | undefined> {
  const where = `port ${target.port} of ${address}`
  const socket = connect({ host: address, port: target.port })
  try {
    const presented = await ask(socket, target, AbortSignal.timeout(ANSWER_TIMEOUT_MS))
    return presented === target.serial ? undefined : `${where} presents another certificate`
  } catch (error) {
    const { name, message } = error as Error
    const isLate = name === 'TimeoutError' || name === 'AbortError'
    return `${where}: ${isLate ? `no answer within ${ANSWER_TIMEOUT_MS / 1_000} seconds` : message}`
  } finally {
    socket.destroy()
  }
}

/** The serial number of the certificate with which an answer came. */
async function ask(socket: Socket, target: LiveTarget, signal: AbortSignal): Promise<string | undefined> {
  const { hostname, port, publicPort = port, proxyHeader } = target
  // `once` hears what goes wrong while it waits; what goes wrong after that is nobody's.
  const quiet = <T extends EventEmitter>(emitter: T): T => emitter.on('error', () => {})
  await once(quiet(socket), 'connect', { signal })
  if (proxyHeader) socket.write(PROXY_HEADER)
  // Whose certificate it is, the serial number says, and the authority may be a private one.
  const secure = quiet(tlsConnect({ socket, servername: hostname, rejectUnauthorized: false }))
  await once(secure, 'secureConnect', { signal })
  const host = publicPort === 443 ? hostname : `${hostname}:${publicPort}`
  const headers = { host, 'user-agent': 'namesake live-check', connection: 'close' }
  const sent = quiet(request({ method: 'HEAD', path: '/', headers, createConnection: () => secure, signal }))
  sent.end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  quiet(answer).resume()
  return secure.getPeerX509Certificate()?.serialNumber.toLowerCase()
}
