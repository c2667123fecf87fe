import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, isIPv6, type Server } from 'node:net'

const LOWEST = 10_000
/** From here on the system gives ports to whoever asks for any: one of those is taken by a stranger while we hand it on. */
const EPHEMERAL = Number(/^\d+/.exec(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'latin1'))![0])
const COUNT = EPHEMERAL - LOWEST
const OF_ONE_PROCESS = 64
const PORT_TRIES = 20

/** Test files run in processes of their own, which stand side by side: each takes ports from where no other begins. */
let next = (process.pid * OF_ONE_PROCESS) % COUNT

/** That many ports of the address that nobody listens at, over UDP or TCP, for a program that is told its port. */
export async function freePorts(count: number, address = '127.0.0.1'): Promise<number[]> {
  const ports: number[] = []
  for (let tries = 0; ports.length < count; tries += 1) {
    if (tries === COUNT) throw new Error(`no ${count} free ports from ${LOWEST} to ${EPHEMERAL - 1}`)
    const port = LOWEST + next
    next = (next + 1) % COUNT
    if (await isFree(port, address)) ports.push(port)
  }
  return ports
}

export async function freePort(address?: string): Promise<number> {
  return (await freePorts(1, address))[0]!
}

async function isFree(port: number, address: string): Promise<boolean> {
  try {
    const { udp, tcp } = await bindBoth(address, port)
    udp.close()
    await new Promise((closed) => tcp.close(closed))
    return true
  } catch {
    return false
  }
}

/** One port for both UDP and TCP; `0`: whichever the system gives. */
export async function bindBoth(address: string, port: number): Promise<{ udp: Socket; tcp: Server; port: number }> {
  for (let n = 1; ; n++) {
    const udp = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
    const tcp = createServer()
    try {
      udp.bind(port, address)
      await once(udp, 'listening')
      const bound = udp.address().port
      tcp.listen(bound, address)
      await once(tcp, 'listening')
      return { udp, tcp, port: bound }
    } catch (error) {
      await new Promise<void>((resolve) => closeQuietly(udp, resolve))
      if (port !== 0 || n >= PORT_TRIES) throw error
    }
  }
}

function closeQuietly(udp: Socket, done: () => void): void {
  try {
    udp.close(done)
  } catch {
    done() // it never was open
  }
}
