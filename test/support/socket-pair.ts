import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Two ends of a connection of TCP, until the test is finished. */
export async function socketPair(): Promise<{ near: Socket; far: Socket }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [near] = (await accepted) as [Socket]
  onTestFinished(() => {
    for (const end of [near, far]) end.destroy()
    server.close()
  })
  return { near, far }
}
