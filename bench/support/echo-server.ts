// The vendor's application for WebSockets: `node echo-server.ts PORT`. It sends every message back as it came, and tells how many these were at /counted-here.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11' // RFC 6455 §1.3
let messages = 0

const server = createServer((_, answer) => answer.end(String(messages)))
server.on('upgrade', (request, socket) => {
  const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${GUID}`).digest('base64')
  const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${accept}`]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  // A proxy passes frames on as bytes, so they need not be read here; one is in flight at a time, so it comes in one piece.
  socket.on('data', (bytes: Buffer) => {
    messages += 1
    socket.write(bytes)
  })
  socket.on('error', () => socket.destroy())
})
server.listen(Number(process.argv[2]), '127.0.0.1')
