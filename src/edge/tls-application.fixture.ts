import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'

export type TlsApplicationOrder = { chainPem: string; keyPem: string }

const EARLY = 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n'

// An application over TLS in a process of its own, whose loop is not that of whoever writes to it. What is sent to `/early` it does not read, and answers when it
// is told to; of all else it counts the bytes. Whenever it has answered early, or is asked, it says how many connections it has accepted.
process.once('message', ({ chainPem, keyPem }: TlsApplicationOrder) => {
  let connections = 0
  let early: Socket | undefined
  const server = createServer({ cert: chainPem, key: keyPem, keepAlive: true, keepAliveTimeout: 60_000 }, (request, response) => {
    if (request.url === '/early') {
      early = request.socket.pause()
      return
    }
    let bytes = 0
    request.on('data', (chunk: Buffer) => (bytes += chunk.length)).on('end', () => response.end(String(bytes)))
  })
  server.on('secureConnection', (socket) => {
    connections += 1
    socket.on('error', () => {})
  })
  process.on('message', () => {
    early?.write(EARLY)
    process.send?.(connections)
  })
  process.once('disconnect', () => process.exit())
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
})
