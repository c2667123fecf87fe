// Visits of hostnames drawn by chance, each on a TLS connection of its own: `node random-visits.ts PORT HOSTNAMES MS AT_ONCE EVERY_MS CA_FILE`, of the certified
// ones among so many. AT_ONCE visitors visit again and again; with EVERY_MS one sets out each so often instead. Prints what became of them as JSON.
import { readFileSync } from 'node:fs'
import { connect, createSecureContext } from 'node:tls'
import { BROWSER_CIPHERS } from './browser-ciphers.ts'
import { percentile } from './measure.ts'
import { certificatesAmong, certifiedAt } from './population-names.ts'

const TIMEOUT_MS = 10_000
const ANSWER = /^HTTP\/1\.1 200 [\s\S]*x{700}/

const [port, hostnames, ms, atOnce, everyMs] = process.argv.slice(2, 7).map(Number) as [number, number, number, number, number]
const secureContext = createSecureContext({ ca: readFileSync(process.argv[7]!), ciphers: BROWSER_CIPHERS })
const certified = certificatesAmong(hostnames)
const end = performance.now() + ms
const times: number[] = []
const failures: string[] = []
const running = new Set<Promise<void>>()

if (everyMs > 0) {
  for (let next = performance.now(); next < end; next += everyMs) {
    await new Promise((resolve) => setTimeout(resolve, next - performance.now()))
    const visit: Promise<void> = visitOnce().finally(() => running.delete(visit))
    running.add(visit)
  }
  await Promise.all(running)
} else {
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (performance.now() < end) await visitOnce()
    }),
  )
}
const [p50Ms, p99Ms, maxMs] = [percentile(times, 0.5), percentile(times, 0.99), percentile(times, 1)]
console.log(JSON.stringify({ done: times.length, bad: failures.length, example: failures[0], p50Ms, p99Ms, maxMs }))

/** No session is offered, so every handshake is a full one. */
async function visitOnce(): Promise<void> {
  const started = performance.now()
  const hostname = certifiedAt(Math.floor(Math.random() * certified))
  await new Promise<void>((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, servername: hostname, secureContext, ALPNProtocols: ['http/1.1'] })
    let answer = ''
    socket.setEncoding('latin1')
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')))
    socket.on('secureConnect', () => socket.write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`))
    socket.on('data', (text: string) => {
      answer += text
    })
    socket.on('error', reject)
    socket.on('close', () => (ANSWER.test(answer) ? resolve() : reject(new Error(`not the upstream's answer: ${answer.slice(0, 80)}`))))
  }).then(
    () => void times.push(performance.now() - started),
    (error: Error) => void failures.push(`${hostname}: ${error.message}`),
  )
}
