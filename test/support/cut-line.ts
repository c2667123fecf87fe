import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A way to the database that can be cut: `url` leads there until `cut()`, and to nobody from then on, or until `mend()`. */
export type Line = {
  url: string
  cut(): Promise<void>
  mend(): Promise<void>
  /** What the database answers on the connections that there are stays on its way until it is released; `reached`: something is. */
  hold(): { reached: Promise<void>; release(): void }
}

const SOCKET = '.s.PGSQL.5432'

/** `databaseUrl` has a Unix socket's folder as `?host=`. */
export async function drawLine(databaseUrl: string): Promise<Line> {
  const folder = await mkdtemp(join(tmpdir(), 'namesake-line-'))
  const url = new URL(databaseUrl)
  const target = join(url.searchParams.get('host')!, SOCKET)
  const sockets = new Set<Socket>()
  const ways = new Map<Socket, Socket>()
  const server = createServer((near) => {
    const far = connect(target)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        ways.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    ways.set(far, near)
    near.pipe(far).pipe(near)
  })
  const open = async () => {
    await chmod(folder, 0o755) // a tree that root has started works as another user
    server.listen({ path: join(folder, SOCKET), writableAll: true })
    await once(server, 'listening')
  }
  await open()
  url.searchParams.set('host', folder)
  return {
    url: url.href,
    async cut() {
      if (!server.listening) return
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
      await rm(folder, { recursive: true, force: true })
    },
    async mend() {
      await mkdir(folder)
      await open()
    },
    hold() {
      const reached = Promise.withResolvers<void>()
      const held = [...ways]
      for (const [far, near] of held) far.unpipe(near).once('readable', reached.resolve)
      return {
        reached: reached.promise,
        release() {
          for (const [far, near] of held) far.off('readable', reached.resolve).pipe(near)
        },
      }
    },
  }
}
