// A load of full TLS handshakes with one request each: `node handshakes.ts PORT HOSTNAME MS AT_ONCE`. Prints what became of them as JSON.
import { connect } from 'node:tls'

const TIMEOUT_MS = 5_000
const ANSWER = /^HTTP\/1\.1 200 [\s\S]*x{700}/

const [port, hostname, ms, atOnce] = process.argv.slice(2) as [string, string, string, string]
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
console.log(JSON.stringify({ done, bad: failures.length, example: failures[0] }))

/** No session is offered, so every handshake is a full one. */
function visitOnce(): Promise<void> {
  return new Promise((resolve, reject) => {
    const ALPNProtocols = ['http/1.1']
    const socket = connect({ host: '127.0.0.1', port: Number(port), servername: hostname, rejectUnauthorized: false, ALPNProtocols })
    let answer = ''
    socket.setEncoding('latin1')
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')))
    socket.on('secureConnect', () => {
      if (socket.isSessionReused() || socket.getProtocol() !== 'TLSv1.3') socket.destroy(new Error('not a full TLS 1.3 handshake'))
      else socket.write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`)
    })
    socket.on('data', (text: string) => {
      answer += text
    })
    socket.on('error', reject)
    socket.on('close', () => (ANSWER.test(answer) ? resolve() : reject(new Error(`not the upstream's answer: ${answer.slice(0, 80)}`))))
  })
}
