import { closeSync } from 'node:fs'
import { BoundSocket } from 'node:net'
import type { Address } from './config.ts'
import { pause } from './lib/back-off.ts'
import { findPortHolders, type PortHolder } from './port-holder.ts'
import { runsScript } from './program-folder.ts'

/** A socket that a role needs, and the setting that says where. */
export type WantedSocket = {
  name: string
  variable: string
  address: Address
  /** A datagram socket, which only systemd can hand over: else the role's process binds it, before it gives up root. */
  boundByRole?: boolean
}

export type ListeningSockets = {
  /** Descriptors by name, to be handed to children: whoever listens on one shares its queue with all the others. */
  fds: Readonly<Record<string, number>>
  /** The port that a socket was given when it asked for any. */
  portOf(name: string): number
  /** Lets go of them here; children that listen go on. */
  close(): void
}

const FIRST_HANDED_FD = 3 // sd_listen_fds(3)
const RETRY_MS = 100
const DRAINING_WAIT_MS = 3_000

/**
 * Binds every socket, or takes those that systemd handed over (`handed`, by name). Waits up to 3 s for ports that processes running
 * `ourScript` still hold: children of a start that was killed, on their way out. Rejects with one message that names every address that
 * cannot be had, its setting, and who holds it.
 */
export async function bindSockets(
  wanted: readonly WantedSocket[],
  handed: ReadonlyMap<string, number>,
  ourScript: string,
): Promise<ListeningSockets> {
  const bound = new Map<string, BoundSocket>()
  const fds: Record<string, number> = Object.fromEntries([...handed].filter(([name]) => wanted.some((socket) => socket.name === name)))
  const close = () => {
    for (const socket of bound.values()) socket.close()
    bound.clear()
  }
  const problems: string[] = []
  const deadline = performance.now() + DRAINING_WAIT_MS
  for (const socket of wanted.filter(({ name, boundByRole }) => !boundByRole && !(name in fds))) {
    const outcome = await bind(socket, ourScript, deadline)
    if (outcome.kind === 'refused') problems.push(outcome.reason)
    else {
      bound.set(socket.name, outcome.socket)
      fds[socket.name] = outcome.socket.fd()
    }
  }
  if (problems.length === 0) return { fds, portOf: (name) => bound.get(name)!.address().port, close }
  close()
  throw new Error(problems.join('\n'))
}

/** The sockets that systemd bound for this process (sd_listen_fds(3)), by FileDescriptorName=: api, internal, http, https, dns or dns-udp. */
export function handedSockets(env: Readonly<Record<string, string | undefined>>, pid: number): Map<string, number> {
  if (env.LISTEN_PID !== String(pid)) return new Map()
  const names = (env.LISTEN_FDNAMES ?? '').split(':')
  return new Map(Array.from({ length: Number(env.LISTEN_FDS ?? 0) }, (_, i) => [names[i] ?? `socket ${i}`, FIRST_HANDED_FD + i]))
}

/** What a supervisor leaves to its successor: where a socket was wanted, the port it was given, and its descriptor. */
export type InheritedSocket = { at: string; port: number; fd: number }

/** The sockets to hand to a successor, by name. */
export function bequeath(wanted: readonly WantedSocket[], sockets: ListeningSockets): Record<string, InheritedSocket> {
  const held = wanted.filter(({ name }) => name in sockets.fds)
  return Object.fromEntries(
    held.map(({ name, address }) => [name, { at: write(address), port: address.port || sockets.portOf(name), fd: sockets.fds[name]! }]),
  )
}

/** Throws when the settings ask for another address than is held, which only a new start can bind. */
export function requireUnmoved(wanted: readonly WantedSocket[], held: Readonly<Record<string, InheritedSocket>>): void {
  const moved = wanted.filter(({ name, address, boundByRole }) => held[name]?.at !== write(address) && !(boundByRole && !(name in held)))
  if (moved.length === 0) return
  const list = moved.map(({ variable, address }) => `${variable}=${write(address)}`).join(', ')
  throw new Error(`the listening sockets stay as they are while the service runs, and the settings now say ${list}: stop, and start again`)
}

/** Takes over what a predecessor holds. Throws as `requireUnmoved` does. */
export function inheritSockets(wanted: readonly WantedSocket[], inherited: Readonly<Record<string, InheritedSocket>>): ListeningSockets {
  requireUnmoved(wanted, inherited)
  const taken = wanted.flatMap(({ name }) => (name in inherited ? [[name, inherited[name]!] as const] : []))
  let open = true
  return {
    fds: Object.fromEntries(taken.map(([name, { fd }]) => [name, fd])),
    portOf: (name) => inherited[name]!.port,
    close() {
      if (open) for (const [, { fd }] of taken) closeSync(fd)
      open = false
    },
  }
}

type Outcome = { kind: 'bound'; socket: BoundSocket } | { kind: 'refused'; reason: string }

async function bind(wanted: WantedSocket, ourScript: string, deadline: number): Promise<Outcome> {
  for (;;) {
    try {
      return { kind: 'bound', socket: new BoundSocket(wanted.address) }
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (code !== 'EADDRINUSE') return { kind: 'refused', reason: explainUnbound(wanted, code) }
      const holders = findPortHolders(wanted.address.port)
      const leaving = holders.length > 0 && holders.every(({ pid }) => runsScript(pid, ourScript))
      if (!leaving || performance.now() > deadline) return { kind: 'refused', reason: explainHeld(wanted, holders, ourScript) }
    }
    await pause(RETRY_MS)
  }
}

function explainHeld({ variable, address }: WantedSocket, holders: PortHolder[], ourScript: string): string {
  const [first] = holders
  const supervisor = holders.find(({ pid }) => !runsScript(pid, ourScript)) ?? first // its children would be started again
  const who = holders.some(({ pid }) => runsScript(pid, ourScript))
    ? `another namesake (process ${supervisor!.pid})`
    : first
      ? `${first.name} (process ${first.pid})`
      : 'a process that this user cannot see (as root: ss -ltnp)'
  const other = { host: address.host, port: address.port < 65_525 ? address.port + 10 : address.port - 10 }
  return `${variable}: port ${address.port} of ${address.host} is in use by ${who}. Stop it, or set ${variable}=${write(other)}`
}

/** Why an address that nobody holds cannot be listened on, and what to do. */
export function explainUnbound({ variable, address }: WantedSocket, code: string | undefined): string {
  if (code === 'EACCES') {
    return `${variable}: port ${address.port} may be bound by root only. Start as root (the work is then done by an unprivileged user), let systemd hand the socket over, or set ${variable}=${write({ host: address.host, port: 8000 + (address.port % 1000) })}`
  }
  if (code === 'EADDRNOTAVAIL')
    return `${variable}: this machine has no address ${address.host}. Set ${variable}=0.0.0.0:${address.port} to listen on all of its own`
  if (code === 'EAFNOSUPPORT')
    return `${variable}: this machine has no IPv6 for ${write(address)}. Set ${variable}=0.0.0.0:${address.port} to listen to IPv4`
  return `${variable}: ${write(address)} cannot be bound (${code})`
}

function write({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
