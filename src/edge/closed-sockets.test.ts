import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { lightenOnceClosed } from './closed-sockets.ts'

const server = createServer()
afterEach(() => void server.close())

test.skipIf(process.versions.bun !== undefined)('a closed socket has told everybody, and refers to nobody any more', async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const visitor = connect((server.address() as { port: number }).port, '127.0.0.1')
  const [socket] = (await once(server, 'connection')) as [Socket]
  const heard: string[] = []
  socket.on('close', () => heard.push('before'))
  lightenOnceClosed(socket)
  socket.on('close', () => heard.push('behind')).on('data', () => {})
  visitor.destroy()
  await once(socket, 'close')
  expect(heard).toEqual(['before', 'behind'])
  expect(socket.eventNames()).toEqual(['error'])
  socket.emit('error', new Error('too late for anybody'))
})
