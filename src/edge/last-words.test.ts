import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { hearLastWords } from './last-words.ts'
import { connectSharing, takeBytes } from './upstream-reads.ts'

/** A connection to an application, of which `taken` is what arrives. */
async function begin() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const socket = connectSharing({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  const [[application]] = (await Promise.all([accepted, once(socket, 'connect')])) as [[Socket], unknown]
  onTestFinished(() => {
    for (const end of [socket, application]) end.destroy()
    server.close()
  })
  hearLastWords(socket)
  const heard: string[] = []
  let taken = 0
  takeBytes(socket, (chunk) => {
    taken += chunk.length
  })
  socket.on('end', () => heard.push('end')).on('error', ({ message }) => heard.push(message))
  application.on('error', () => {})
  return { socket, application, heard, taken: () => taken }
}

/** Each to another turn: the first one is what the other side resets the connection for. */
async function writeTwice(socket: Socket): Promise<void> {
  for (let times = 0; times < 2; times += 1) {
    socket.write('still here')
    await pause(50)
  }
}

test('what was said up to a proper end is heard, and the end, however late whoever wants it reads on', async () => {
  const { socket, application, heard, taken } = await begin()
  socket.pause()
  const gone = once(application, 'close')
  application.end(Buffer.alloc(50_000), () => application.destroy())
  await gone
  await writeTwice(socket)
  await pause(200)
  expect([heard, socket.destroyed]).toEqual([[], false])
  socket.resume()
  await expect.poll(() => socket.closed).toBe(true)
  expect([taken(), heard]).toEqual([50_000, ['end', 'write EPIPE']])
})

test('what was cut off has no end, whoever reads it, and does not wait for anybody', async () => {
  const { socket, application, heard } = await begin()
  socket.pause()
  await new Promise((resolve) => application.write(Buffer.alloc(50_000), resolve))
  application.resetAndDestroy()
  await writeTwice(socket)
  socket.resume()
  await pause(200)
  expect([heard, socket.destroyed]).toEqual([['write ECONNRESET'], true])
})

test('whoever is tired of waiting closes it', async () => {
  const { socket, application, heard } = await begin()
  socket.pause()
  const gone = once(application, 'close')
  application.end(Buffer.alloc(50_000), () => application.destroy())
  await gone
  await writeTwice(socket)
  socket.destroy()
  await once(socket, 'close')
  expect(heard).toEqual([])
})
