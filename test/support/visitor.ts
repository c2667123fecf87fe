import { once } from 'node:events'
import { request } from 'node:https'
import { type AddressInfo, connect as connectTcp, createServer } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'

export type Answer = { status: number; headers: Record<string, string | string[] | undefined>; body: string }

export type Visit = {
  port: number
  hostname: string
  ca: string
  path?: string
  method?: string
  headers?: Record<string, string>
  body?: string
}

const VISIT_TIMEOUT_MS = 20_000

/** One HTTPS request as a visitor makes it, to the edge at a loopback port, over a connection of its own with full certificate checks. */
export function visit({ port, hostname, ca, path = '/', method = 'GET', headers, body }: Visit): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      servername: hostname,
      ca,
      path,
      method,
      agent: false,
      headers: { host: hostname, ...headers },
    } as const
    const sent = request({ ...options, timeout: VISIT_TIMEOUT_MS }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(chunks).toString() }))
      answer.on('error', reject)
    })
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')))
    sent.on('error', reject)
    sent.end(body)
  })
}

/** A TLS handshake alone; resolves with the socket, rejects with the alert or error. */
export function handshake(to: { port: number; hostname: string; ca: string; localAddress?: string }): Promise<TLSSocket> {
  const { port, hostname, ca, localAddress } = to
  return new Promise((resolve, reject) => {
    const near = localAddress ? { localAddress } : {}
    const socket = connectTls({ host: '127.0.0.1', port, servername: hostname, ca, ...near, timeout: VISIT_TIMEOUT_MS }, () =>
      resolve(socket),
    )
    socket.on('error', reject)
    socket.on('timeout', () => socket.destroy(new Error('no handshake in time')))
    socket.on('close', () => reject(new Error('closed before the handshake ended')))
  })
}

/** The bytes with which a TLS client opens a connection for the hostname, so that they can be sent without the cost of a client. */
export async function recordClientHello(hostname: string): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connectTls({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, servername: hostname })
  client.on('error', () => {})
  const [socket] = await once(server, 'connection')
  const [hello] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  client.destroy()
  server.close()
  return hello
}

/** The same bytes with one text in place of another of the same length, as in the ClientHello of another name. */
export function renamed(hello: Buffer, from: string, to: string): Buffer {
  const bytes = Buffer.from(hello)
  bytes.write(to, bytes.indexOf(from), 'latin1')
  return bytes
}

/** Sends bytes over a connection of its own, and resolves with what came back when the other side has closed it. */
export function knock(port: number, bytes: Buffer, localAddress = '127.0.0.1'): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const answered: Buffer[] = []
    const socket = connectTcp({ host: '127.0.0.1', port, localAddress }, () => void socket.write(bytes))
    socket.setTimeout(VISIT_TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')))
    socket.on('data', (chunk) => answered.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(answered)))
  })
}
