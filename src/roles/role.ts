import type { Registry } from 'prom-client'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'

/** What a server is told to listen on: a socket that the supervisor bound, or an address of its own. */
export type Listen = { fd: number } | { host: string; port: number }

/** What every role process is started with. */
export type RoleContext = {
  config: Config
  log: Log
  metrics: Registry
  /** The sockets that the supervisor shares with this process, by name: api, internal, http, https, dns, dns-udp. */
  listen: Readonly<Record<string, Listen | undefined>>
  /** The roles that this tree was started with. */
  roles: readonly string[]
  /** Folder of the Unix sockets that the processes of this machine talk through. */
  runDir: string
  /** Where the demo's application listens, with --demo. */
  demoUpstream: string | undefined
  /** Asks every process of this tree for its report, or only those of one role. */
  gather(role?: string): Promise<ProcessReport[]>
  /** Says that this process can only go on when the one whose place it is to take has ended. */
  sayWaiting(): void
  /** Of a tree that takes over from another: resolves when it is in charge. Until then the other answers for the machine. */
  inCharge?: Promise<void> | undefined
}

/** One process of the tree as `/ready` and `/metrics` show it. */
export type ProcessReport = { role: string; pid: number; ready: boolean; details: Record<string, unknown>; metrics: object[] }

/** A role that runs: what it says of itself, and how it ends. */
export type RunningRole = {
  report(): { ready: boolean; details: Record<string, unknown> }
  stop(): Promise<void>
}
