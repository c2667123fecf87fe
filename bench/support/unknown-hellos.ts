// A flood of TLS handshakes for names that nobody registered: `node unknown-hellos.ts PORT A_SECOND MS [HOST SOURCES]`, SOURCES as `127.1.0.`. Prints what became of them as JSON.
import { randomBytes } from 'node:crypto'
import { connect as connectTcp } from 'node:net'
import { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { pause } from './measure.ts'

const LABEL = 'placeholder-label-16'
const AT_ONCE_MAX = 2_000
const TIMEOUT_MS = 5_000
const TICK_MS = 2
const SOURCES = 200 // addresses of a /24: one of them has ports for 28,000 connections a minute
const ALERT = 21
const HANDSHAKE_FAILURE = 40

const [port, perSecond, ms] = process.argv.slice(2, 5).map(Number) as [number, number, number]
const [host = '127.0.0.1', sources = '127.1.0.'] = process.argv.slice(5)
const template = await clientHello(`${LABEL}.unknown.test`)
const labelAt = template.indexOf(LABEL)
const counts = { sent: 0, refused: 0, otherwise: 0, heldBack: 0 }
let open = 0
let due = 0

const start = performance.now()
let last = start
while (last - start < ms) {
  await pause(TICK_MS)
  const now = performance.now()
  due += ((now - last) / 1_000) * perSecond
  last = now
  for (; due >= 1; due -= 1) {
    if (open < AT_ONCE_MAX) send()
    else counts.heldBack += 1
  }
}
const seconds = (performance.now() - start) / 1_000
for (let waited = 0; open > 0 && waited < TIMEOUT_MS; waited += 50) await pause(50)
console.log(JSON.stringify({ ...counts, seconds }))
process.exit()

function send(): void {
  open += 1
  counts.sent += 1
  let verdict: 'refused' | 'otherwise' = 'otherwise'
  const socket = connectTcp({ host, port, localAddress: `${sources}${1 + (counts.sent % SOURCES)}` })
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy())
  socket.on('connect', () => socket.write(helloForRandomName()))
  socket.on('data', (bytes: Buffer) => {
    if (bytes[0] === ALERT && bytes[6] === HANDSHAKE_FAILURE) verdict = 'refused'
    socket.destroy()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    open -= 1
    counts[verdict] += 1
  })
}

function helloForRandomName(): Buffer {
  const hello = Buffer.from(template)
  hello.write(randomBytes(LABEL.length / 2).toString('hex'), labelAt)
  return hello
}

/** What Node's own TLS client says first. */
function clientHello(servername: string): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({
      read() {},
      write(bytes: Buffer) {
        resolve(bytes)
      },
    })
    connectTls({ socket: wire, servername, ALPNProtocols: ['h2', 'http/1.1'] }).on('error', () => {})
  })
}
