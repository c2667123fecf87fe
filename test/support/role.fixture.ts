import { existsSync, readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'

// A role process as small as can be: answers on the sockets it was given with who it is, and obeys its supervisor.
const role = process.argv[2]!
const KEPT_GRACE_MS = 200 // a request may be on its way
if (role === 'setup') {
  if (process.env.FIXTURE_SETUP_FAILS) {
    process.send!({ type: 'failed', message: process.env.FIXTURE_SETUP_FAILS }, () => process.exit(1))
    await new Promise(() => {})
  }
  if (process.env.FIXTURE_SETUP_HANGS) await new Promise(() => process.on('disconnect', () => process.exit(1)))
  process.exit(0)
}

const fds = JSON.parse(process.env.NAMESAKE_LISTEN ?? '{}') as Record<string, number>
const waiting = new Map<number, (reports: unknown[]) => void>()
let asked = 0
const gather = () => {
  const id = asked++
  process.send!({ type: 'gather', id })
  return new Promise<unknown[]>((resolve) => waiting.set(id, resolve))
}
const servers = Object.entries(fds).map(([name, fd]) => {
  const http = createHttpServer((request, response) => {
    if (request.url === '/gather') void gather().then((reports) => response.end(JSON.stringify(reports)))
    else response.end(JSON.stringify({ role, socket: name, pid: process.pid, runtime: process.versions.bun ? 'bun' : 'node' }))
  })
  // Bun's HTTP servers do not listen on a descriptor; its sockets do, as the edge's.
  const listener = createServer((socket) => void http.emit('connection', socket)).listen({ fd })
  return { close: (done: () => void) => listener.close(done), closeIdleConnections: () => http.closeIdleConnections() }
})

type Message = { type: 'report'; id: number } | { type: 'gathered'; id: number; reports: unknown[] }
process.on('message', (message: Message) => {
  if (message.type === 'gathered') waiting.get(message.id)?.(message.reports)
  else process.send!({ type: 'report', id: message.id, report: { role, pid: process.pid, ready: true, details: {}, metrics: [] } })
})
const end = () => {
  if (process.env.FIXTURE_STUBBORN === role) return
  let open = servers.length
  if (open === 0) process.exit(0)
  for (const server of servers) {
    server.close(() => --open === 0 && process.exit(0))
    setTimeout(() => server.closeIdleConnections(), KEPT_GRACE_MS)
  }
}
process.on('SIGTERM', end)
process.on('SIGINT', () => {})
process.on('disconnect', () => process.exit(0))
if (process.env.FIXTURE_CRASHES === role) process.exit(3)
const refusal = process.env.FIXTURE_REFUSAL ?? ''
if (existsSync(refusal)) {
  process.send!({ type: 'failed', message: readFileSync(refusal, 'utf8') }, () => process.exit(1))
  await new Promise(() => {})
}
process.send!({ type: process.env.FIXTURE_WAITS === role ? 'waiting' : 'ready' })
