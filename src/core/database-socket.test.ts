import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { pause } from '../lib/back-off.ts'
import { openDatabaseSocket } from './database-socket.ts'

const SILENCE_MS = 30

test('a socket for which no server was found never breaks, since nobody would hear it', async () => {
  const errors: Error[] = []
  const socket = openDatabaseSocket(SILENCE_MS).on('error', (error) => errors.push(error))
  await pause(4 * SILENCE_MS)
  expect(errors).toEqual([])
  expect(socket.destroyed).toBe(false)
})

test('a server that has gone silent is given up', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = openDatabaseSocket(SILENCE_MS).connect((server.address() as AddressInfo).port as never)
  const [error] = (await once(socket, 'error')) as [Error]
  expect(error.message).toContain('silent for too long')
  server.close()
})
