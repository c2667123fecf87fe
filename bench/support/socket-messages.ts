// WebSocket messages back and forth: `node socket-messages.ts PORT MS HOSTNAME CONNECTIONS`, one in flight on each connection. Prints a LoadResult.
import { randomBytes } from 'node:crypto'
import { connect } from 'node:tls'
import { BROWSER_CIPHERS } from './browser-ciphers.ts'

const MESSAGE_BYTES = 100
const TIMEOUT_MS = 5_000
const TEXT_FRAME = 0x81
const MASKED = 0x80

const [port, ms, hostname, connections] = process.argv.slice(2) as [string, string, string, string]
const end = performance.now() + Number(ms)
const frame = Buffer.concat([Buffer.of(TEXT_FRAME, MASKED | MESSAGE_BYTES), randomBytes(4), randomBytes(MESSAGE_BYTES)])
let done = 0
const failures: string[] = []
await Promise.all(Array.from({ length: Number(connections) }, () => talk().catch((error: Error) => failures.push(error.message))))
console.log(JSON.stringify({ done, bad: failures.length, example: failures[0] }))

function talk(): Promise<void> {
  return new Promise((resolve, reject) => {
    const key = randomBytes(16).toString('base64')
    const to = { host: '127.0.0.1', port: Number(port), servername: hostname }
    const socket = connect({ ...to, rejectUnauthorized: false, ciphers: BROWSER_CIPHERS, ALPNProtocols: ['http/1.1'] })
    let head = ''
    let received = 0
    socket.setNoDelay(true)
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('nothing came back in time')))
    socket.on('secureConnect', () => {
      const fields = [
        `Host: ${hostname}`,
        'Upgrade: websocket',
        'Connection: Upgrade',
        'Sec-WebSocket-Version: 13',
        `Sec-WebSocket-Key: ${key}`,
      ]
      socket.write(`GET /socket HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`)
    })
    socket.on('data', (bytes: Buffer) => {
      if (!head.endsWith('\r\n\r\n')) {
        head += bytes.toString('latin1')
        if (!head.startsWith('HTTP/1.1 101 ')) socket.destroy(new Error(`no WebSocket: ${head.slice(0, 80)}`))
        else if (head.endsWith('\r\n\r\n')) socket.write(frame)
        return
      }
      received += bytes.length
      if (received < frame.length) return
      received = 0
      done += 1
      if (performance.now() < end) socket.write(frame)
      else socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => (performance.now() < end ? reject(new Error('closed too early')) : resolve()))
  })
}
