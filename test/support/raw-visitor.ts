import {
  type ClientHttp2Session,
  connect as connectHttp2,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type Settings,
} from 'node:http2'
import { connect as connectTcp, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'

const WAIT_MS_MAX = 30_000

export type Target = { port: number; hostname?: string; ca: string; more?: ConnectionOptions & { localAddress?: string } }

/** A TLS connection to the edge with HTTP/1.1 chosen; without a hostname no SNI is sent. Rejects with the handshake's error. */
export function openTls({ port, hostname, ca, more }: Target): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const servername = hostname === undefined ? {} : { servername: hostname }
    const options = { host: '127.0.0.1', port, ca, ALPNProtocols: ['http/1.1'], ...servername, ...more }
    const socket = connectTls(options, () => {
      socket.off('error', reject)
      socket.on('error', () => {})
      resolve(socket)
    })
    socket.once('error', reject)
    socket.setTimeout(WAIT_MS_MAX, () => socket.destroy(new Error('the edge was silent')))
  })
}

export type RawAnswer = { status: number; head: string; field(name: string): string | undefined; body: string }

/** Reads answers from a connection one after the other, as bytes: no HTTP library stands between the test and the wire. */
export class RawReader {
  readonly socket: Socket
  #text = ''
  #isClosed = false
  #changed: () => void = () => {}

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk) => {
      this.#text += chunk.toString('latin1')
      this.#changed()
    })
    socket.once('close', () => {
      this.#isClosed = true
      this.#changed()
    })
  }

  /** Everything received and not taken yet. */
  get rest(): string {
    return this.#text
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Takes what comes up to and including the mark. Rejects when the connection closes before. */
  async until(mark: string): Promise<string> {
    await this.#wait(() => this.#text.includes(mark) || this.#isClosed)
    const end = this.#text.indexOf(mark)
    if (end < 0) throw new Error(`closed before ${JSON.stringify(mark)}; there was ${JSON.stringify(this.#text.slice(0, 300))}`)
    const taken = this.#text.slice(0, end + mark.length)
    this.#text = this.#text.slice(end + mark.length)
    return taken
  }

  async take(count: number): Promise<string> {
    await this.#wait(() => this.#text.length >= count || this.#isClosed)
    if (this.#text.length < count) throw new Error(`closed before ${count} bytes; there was ${JSON.stringify(this.#text.slice(0, 300))}`)
    const taken = this.#text.slice(0, count)
    this.#text = this.#text.slice(count)
    return taken
  }

  async closed(): Promise<string> {
    await this.#wait(() => this.#isClosed)
    return this.#text
  }

  /** One whole answer, framed by Content-Length or chunks (kept as they are on the wire), interim ones passed over; `bodiless` for HEAD and the like. */
  async answer({ bodiless = false } = {}): Promise<RawAnswer> {
    let head = await this.until('\r\n\r\n')
    while (/^HTTP\/1\.1 1(?!01)/.test(head)) head = await this.until('\r\n\r\n')
    const field = (name: string) => new RegExp(`^${name}: *(.*?)\r$`, 'im').exec(head)?.[1]
    const length = field('content-length')
    let body = ''
    if (!bodiless && length !== undefined) body = await this.take(Number(length))
    else if (!bodiless && field('transfer-encoding')) body = await this.until('0\r\n\r\n')
    return { status: Number(head.slice(9, 12)), head, field, body }
  }

  #wait(isThere: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`nothing more came; there was ${JSON.stringify(this.#text.slice(0, 300))}`)),
        WAIT_MS_MAX,
      )
      this.#changed = () => {
        if (!isThere()) return
        clearTimeout(timer)
        this.#changed = () => {}
        resolve()
      }
      this.#changed()
    })
  }
}

/** Sends the bytes over a new TLS connection and returns its reader. */
export async function speak(target: Target, bytes: string): Promise<RawReader> {
  const reader = new RawReader(await openTls(target))
  reader.socket.write(bytes, 'latin1')
  return reader
}

/** Sends bytes over plain TCP, as to port 80, and returns the reader. */
export function speakPlain(port: number, bytes: string): RawReader {
  const socket = connectTcp(port, '127.0.0.1')
  socket.on('error', () => {})
  const reader = new RawReader(socket)
  socket.write(bytes, 'latin1')
  return reader
}

/** An HTTP/2 connection to the edge. */
export function openHttp2({ port, hostname, ca, more }: Target, settings: Settings = {}): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const createConnection = () => connectTls({ host: '127.0.0.1', port, servername: hostname ?? '', ca, ALPNProtocols: ['h2'], ...more })
    const session = connectHttp2(`https://${hostname}`, { createConnection, settings })
    session.once('connect', () => resolve(session))
    session.once('error', reject)
    session.on('error', () => {})
  })
}

export type Http2Answer = { headers: IncomingHttpHeaders & { ':status'?: number }; trailers: IncomingHttpHeaders; body: string }

/** One request; rejects when the stream ends with an error, with the RST_STREAM code in `rstCode`. */
export function requestHttp2(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: string): Promise<Http2Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined })
    const answer: Http2Answer = { headers: {}, trailers: {}, body: '' }
    stream.setEncoding('latin1')
    stream.on('response', (received) => (answer.headers = received))
    stream.on('trailers', (received) => (answer.trailers = received))
    stream.on('data', (chunk: string) => (answer.body += chunk))
    stream.on('error', () => {})
    stream.on('close', () => {
      if (stream.rstCode === 0) resolve(answer)
      else reject(Object.assign(new Error(`the stream was reset with ${stream.rstCode}`), { rstCode: stream.rstCode, answer }))
    })
    if (body !== undefined) stream.end(body)
  })
}
