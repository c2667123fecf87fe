// TLS 1.3 handshakes with one request each: `node handshakes.ts PORT MS ZONE NAMES AT_ONCE GROUPS [SESSIONS]`, for random ones of NAMES hostnames
// below ZONE. GROUPS are what the client offers for the key exchange, the first with a share (`X25519MLKEM768:X25519`). Without SESSIONS all are
// full. With it, the sessions of that file are resumed; if there is no file, it is filled from full ones. Prints a LoadResult.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type ConnectionOptions, connect, createSecureContext } from 'node:tls'
import { BROWSER_CIPHERS } from './browser-ciphers.ts'
import { nameAt } from './numbered-names.ts'

const TIMEOUT_MS = 5_000
const ANSWER = /^HTTP\/1\.1 200 [\s\S]*x{700}/

const [port, ms, zone, names, atOnce, groups, file] = process.argv.slice(2) as [string, string, string, string, string, string, string?]
const kept: [hostname: string, session: string][] = file && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
const resuming = kept.length > 0
const gathered = new Map<string, string>()
const secureContext = createSecureContext({ ecdhCurve: groups, ciphers: BROWSER_CIPHERS }) // one for all: to make one for each visit costs the client as much as the visit
const end = performance.now() + Number(ms)
let done = 0
const failures: string[] = []

await Promise.all(
  Array.from({ length: Number(atOnce) }, async () => {
    while (performance.now() < end) {
      await visitOnce().then(
        () => (done += 1),
        (error: Error) => failures.push(error.message),
      )
    }
  }),
)
if (file && !resuming) writeFileSync(file, JSON.stringify([...gathered]))
console.log(JSON.stringify({ done, bad: failures.length, example: failures[0] }))

function visitOnce(): Promise<void> {
  const [hostname, session] = resuming ? kept[random(kept.length)]! : [nameAt(zone, random(Number(names)))]
  const options: ConnectionOptions = {
    host: '127.0.0.1',
    port: Number(port),
    servername: hostname,
    rejectUnauthorized: false,
    secureContext,
  }
  if (session) options.session = Buffer.from(session, 'base64')
  return new Promise((resolve, reject) => {
    const socket = connect({ ...options, ALPNProtocols: ['http/1.1'] })
    let answer = ''
    socket.setEncoding('latin1')
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')))
    socket.on('secureConnect', () => {
      const wanted = socket.isSessionReused() === resuming && socket.getProtocol() === 'TLSv1.3'
      if (!wanted) socket.destroy(new Error(`not a ${resuming ? 'resumed' : 'full'} TLS 1.3 handshake for ${hostname}`))
      else socket.write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`)
    })
    if (file && !resuming) socket.on('session', (ticket) => gathered.set(hostname, ticket.toString('base64')))
    socket.on('data', (text: string) => {
      answer += text
    })
    socket.on('error', reject)
    socket.on('close', () => (ANSWER.test(answer) ? resolve() : reject(new Error(`not the upstream's answer: ${answer.slice(0, 80)}`))))
  })
}

function random(below: number): number {
  return Math.floor(Math.random() * below)
}
