import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

const LOWEST = 10_000
/** From here on the system gives ports to whoever asks for any: one of those is taken by a stranger while we hand it on. */
const EPHEMERAL = Number(/^\d+/.exec(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'latin1'))![0])
const COUNT = EPHEMERAL - LOWEST
const OF_ONE_PROCESS = 64

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
  const udp = createSocket(address.includes(':') ? 'udp6' : 'udp4')
  const tcp = createServer()
  try {
    udp.bind(port, address)
    await once(udp, 'listening')
    tcp.listen(port, address)
    await once(tcp, 'listening')
    return true
  } catch {
    return false
  } finally {
    udp.close()
    await new Promise((closed) => tcp.close(closed))
  }
}
