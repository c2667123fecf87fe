import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { listProcesses, nameOf } from './processes.ts'

const LISTENING = '0A' // TCP_LISTEN in /proc/net/tcp
const IPV4_TABLE = '/proc/net/tcp'
const IPV6_TABLE = '/proc/net/tcp6'

export type PortHolder = { pid: number; name: string }

/** The processes that listen on the port, as far as this user may see them: every one for root, else one's own. */
export function findPortHolders(port: number): PortHolder[] {
  const sockets = new Set(listeningInodes(port).map((inode) => `socket:[${inode}]`))
  if (sockets.size === 0) return []
  const holders = listProcesses().filter((pid) => pid !== process.pid && openFiles(pid).some((file) => sockets.has(file)))
  return holders.map((pid) => ({ pid, name: nameOf(pid) }))
}

/** Whether somebody listens on the port with a socket of IPv6, such as one of systemd's, which takes IPv4 too. */
export function isTakenOnIpv6(port: number): boolean {
  return listeningInodes(port, [IPV6_TABLE]).length > 0
}

function listeningInodes(port: number, tables = [IPV4_TABLE, IPV6_TABLE]): string[] {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  return tables.flatMap((table) =>
    readLines(table)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => state === LISTENING && local?.endsWith(`:${hexPort}`))
      .map((fields) => fields[9]!),
  )
}

function openFiles(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`))
  } catch {
    return []
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(1)
  } catch {
    return []
  }
}
