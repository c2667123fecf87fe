import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually, type ProcessState } from '../support/tree.ts'
import type { Folders } from './folders.ts'
import type { Network } from './network.ts'
import { type Program, runToEnd, startProgram } from './processes.ts'

const LAUNCHER = fileURLToPath(new URL('../../bin/namesake', import.meta.url))
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'
const READY_TIMEOUT_MS = 60_000
const API_PORT = 4000
const INTERNAL_PORT = 4001
export const HTTP_PORT = 8080
export const HTTPS_PORT = 8443
export const EDGES = ['edge1', 'edge2', 'edge3'] as const

export type EdgeName = (typeof EDGES)[number]
export type MachineName = 'api1' | 'api2' | 'worker1' | 'worker2' | EdgeName

/** One `namesake start` at an address of its own. */
export type Machine = {
  name: MachineName
  address: string
  apiUrl: string
  dataDir: string
  program(): Program
  /** Starts it, as a service manager would after its end; resolves at once. */
  start(): void
  isReady(): Promise<boolean>
  untilReady(): Promise<void>
  processesOf(role: string): Promise<ProcessState[]>
  /** Moves its clock by so many seconds from the true time; only where it was started with a clock of its own. */
  setClock(offsetS: number): void
  /** Runs `namesake …args --json` there. */
  command<T>(...args: string[]): Promise<T>
}

export type MachineOptions = { name: MachineName; network: Network; folders: Folders; env: Record<string, string>; ownClock?: boolean }

/** A machine that has not been started yet. Its role is its name without the number. */
export function createMachine({ name, network, folders, env: common, ownClock }: MachineOptions): Machine {
  const { home, logs } = folders
  const address = network.addressOf(name)
  const dataDir = join(home, name)
  const clockFile = join(home, `${name}.clock`)
  mkdirSync(dataDir, { recursive: true })
  const internalUrl = `http://${address}:${INTERNAL_PORT}`
  const env: Record<string, string> = {
    ...common,
    NAMESAKE_DATA_DIR: join(dataDir, 'data'),
    NAMESAKE_API_ADDR: `${address}:${API_PORT}`,
    NAMESAKE_INTERNAL_ADDR: `${address}:${INTERNAL_PORT}`,
    NAMESAKE_HTTP_ADDR: `${address}:${HTTP_PORT}`,
    NAMESAKE_HTTPS_ADDR: `${address}:${HTTPS_PORT}`,
  }
  const clock = {
    LD_PRELOAD: FAKETIME,
    FAKETIME_TIMESTAMP_FILE: clockFile,
    FAKETIME_CACHE_DURATION: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  const setClock = (offsetS: number) => writeFileSync(clockFile, `${offsetS < 0 ? '' : '+'}${offsetS}s\n`)
  if (ownClock) {
    setClock(0)
    chmodSync(clockFile, 0o644)
  }
  let program: Program | undefined
  const ready = () => fetch(`${internalUrl}/ready`, { signal: AbortSignal.timeout(10_000) })
  return {
    name,
    address,
    apiUrl: `http://${address}:${API_PORT}`,
    dataDir,
    setClock,
    program: () => program!,
    start() {
      const command = [...network.within(name), LAUNCHER, 'start', '--roles', name.slice(0, -1)]
      program = startProgram(command, { logFile: join(logs, `${name}.log`), env: { ...env, ...(ownClock && clock) }, cwd: home })
    },
    isReady: async () => (await ready().catch(() => undefined))?.status === 200,
    async untilReady() {
      await eventually(async () => program!.hasEnded() || (await ready()).status === 200, READY_TIMEOUT_MS, 100)
      if (program!.hasEnded()) throw new Error(`${name} ended: see ${join(logs, `${name}.log`)}`)
    },
    async processesOf(role) {
      const { processes } = (await (await ready()).json()) as { processes: ProcessState[] }
      return processes.filter((one) => one.role === role)
    },
    async command<T>(...args: string[]) {
      return JSON.parse(await runToEnd([...network.within(name), LAUNCHER, ...args, '--json'], { env, cwd: home })) as T
    },
  }
}
