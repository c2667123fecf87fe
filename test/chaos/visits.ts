import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import { type Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { HTTPS_PORT } from './machines.ts'
import { WrongAnswer } from './tally.ts'

/** Where a visitor goes: the hostname at one edge. */
export type Destination = { address: string; hostname: string; root: string }

export type Answer = { status: number; body: string }

/** Longer than the edge holds a request for an upstream that is away. */
const VISIT_TIMEOUT_MS = 15_000

/** One GET over HTTP/1.1; without an agent over a connection of its own. */
export function visitHttp1({ address, hostname, root }: Destination, path: string, agent: Agent | false = false): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const target = { host: address, port: HTTPS_PORT, servername: hostname, ca: root, path, agent, headers: { host: hostname } }
    const sent = request(target, (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode!, body }), reject)
    })
    const deadline = setTimeout(() => sent.destroy(new Error('no whole answer in time')), VISIT_TIMEOUT_MS)
    sent.once('close', () => clearTimeout(deadline))
    sent.on('error', (error) => reject(asWrong(error)))
    sent.end()
  })
}

/** A session that is replaced when the edge says that it goes, as browsers do it. */
export type Http2Visitor = { visit(path: string): Promise<Answer>; leave(): void }

export function openHttp2({ address, hostname, root }: Destination): Http2Visitor {
  let current: Promise<ClientHttp2Session> | undefined
  const sessions = new Set<ClientHttp2Session>()
  const open = () =>
    new Promise<ClientHttp2Session>((resolve, reject) => {
      const session = connectHttp2(`https://${hostname}`, { host: address, port: HTTPS_PORT, servername: hostname, ca: root })
      sessions.add(session)
      const deadline = setTimeout(() => session.destroy(new Error('no session in time')), VISIT_TIMEOUT_MS)
      session.once('connect', () => {
        clearTimeout(deadline)
        resolve(session)
      })
      session.on('error', (error) => reject(asWrong(error)))
      session.once('close', () => {
        clearTimeout(deadline)
        sessions.delete(session)
        reject(new Error('closed before the session began'))
      })
    })
  const present = async () => {
    const session = await current?.catch(() => undefined)
    if (session && !session.closed && !session.destroyed) return session
    current = open()
    current.catch(() => {})
    return current
  }
  return {
    async visit(path) {
      const answer = ask(await present(), hostname, path)
      return answer.catch(async (error: { rstCode?: number }) => {
        // A stream that the server refuses was not read: clients send it again, on the next session (RFC 9113 §8.7).
        if (error.rstCode !== constants.NGHTTP2_REFUSED_STREAM) throw error
        return ask(await present(), hostname, path)
      })
    },
    leave() {
      for (const session of sessions) session.destroy()
    },
  }
}

function ask(session: ClientHttp2Session, hostname: string, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': path, ':authority': hostname })
    const deadline = setTimeout(() => stream.destroy(new Error('no whole answer in time')), VISIT_TIMEOUT_MS)
    let status = 0
    stream.on('response', (fields) => {
      status = fields[':status']!
    })
    stream.on('error', (error) => reject(Object.assign(error, { rstCode: stream.rstCode })))
    stream.once('close', () => {
      clearTimeout(deadline)
      // What had come before the end has still to be read.
      setImmediate(() => reject(Object.assign(new Error(`the stream ended with ${stream.rstCode}`), { rstCode: stream.rstCode })))
    })
    text(stream).then((body) => (status > 0 ? resolve({ status, body }) : undefined), reject)
  })
}

function asWrong(error: NodeJS.ErrnoException): Error {
  return error.code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? new WrongAnswer(error.message) : error
}
