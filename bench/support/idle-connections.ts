// `node idle-connections.ts PORT HOSTNAME COUNT`: opens so many TLS connections from many addresses, asks once on each, says how many are open, and keeps them until its input ends.
import { connect } from 'node:tls'
import { BROWSER_CIPHERS } from './browser-ciphers.ts'

const AT_ONCE = 32
const SOURCES = 200 // addresses of 127.2.0.0/24, so that no ceiling for one visitor is met
const TIMEOUT_MS = 10_000

const [port, hostname, count] = process.argv.slice(2) as [string, string, string]
let next = 0
let open = 0
let session: Buffer | undefined // after the first, a handshake is cheap for this side

await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    while (next < Number(count)) {
      next += 1
      await openOne(next).catch((error: Error) => console.error(error.message))
    }
  }),
)
console.log(open)
process.stdin.on('end', () => process.exit()).resume()

function openOne(number: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const localAddress = `127.2.0.${1 + (number % SOURCES)}`
    const options = { host: '127.0.0.1', port: Number(port), localAddress, servername: hostname, rejectUnauthorized: false }
    const socket = connect({ ...options, ciphers: BROWSER_CIPHERS, ALPNProtocols: ['http/1.1'], ...(session && { session }) })
    const timer = setTimeout(() => socket.destroy(new Error('no answer in time')), TIMEOUT_MS)
    let counted = false
    socket.on('session', (ticket: Buffer) => {
      session = ticket
    })
    socket.on('secureConnect', () => socket.write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`))
    socket.once('data', () => {
      clearTimeout(timer)
      counted = true
      open += 1
      resolve()
    })
    socket.on('error', reject)
    socket.on('close', () => {
      clearTimeout(timer)
      if (counted) open -= 1
    })
  })
}
