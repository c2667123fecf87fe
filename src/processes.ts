import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { pause } from './lib/back-off.ts'

/** A process that cannot be mistaken for a later one with the same number. */
export type ProcessIdentity = { pid: number; startedAt: string }

const GONE_POLL_MS = 20

/** Whether a process runs. One that has ended and only waits to be read by its parent (a zombie) does not. */
export function isRunning(pid: number): boolean {
  const state = readStat(pid)?.[0]
  return state !== undefined && state !== 'Z' && state !== 'X'
}

/** What tells a process from any other, before and after a reboot; undefined when there is none. */
export function identify(pid: number): ProcessIdentity | undefined {
  const ticks = readStat(pid)?.[19] // field 22 of proc_pid_stat(5): clock ticks since the boot
  return ticks === undefined ? undefined : { pid, startedAt: `${bootId()}:${ticks}` }
}

/** Whether it is still that very process which runs. */
export function isStill({ pid, startedAt }: ProcessIdentity): boolean {
  return isRunning(pid) && identify(pid)?.startedAt === startedAt
}

/** The process's working folder, or undefined when that is not ours to see. */
export function workingFolderOf(pid: number): string | undefined {
  return readLink(`/proc/${pid}/cwd`)
}

/** The file that the process runs, or undefined when that is not ours to see. */
export function programOf(pid: number): string | undefined {
  return readLink(`/proc/${pid}/exe`)
}

/** The words of the process's command line; empty when there is none to see. */
export function commandOf(pid: number): string[] {
  return readText(`/proc/${pid}/cmdline`)?.split('\0').filter(Boolean) ?? []
}

/** The command as a person knows it: `nginx`, `node server.js`. */
export function nameOf(pid: number): string {
  const [program, script] = commandOf(pid)
  const name = basename((program ?? readText(`/proc/${pid}/comm`)?.trim() ?? 'unknown').split(' ')[0]!.replace(/:$/, ''))
  return name === 'node' && script ? `node ${script}` : name
}

export function listProcesses(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

/** Sends a signal; a process that has ended meanwhile is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Resolves with whether the process has ended within the time. */
export async function hasEnded(pid: number, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs
  while (isRunning(pid)) {
    if (performance.now() > deadline) return false
    await pause(GONE_POLL_MS)
  }
  return true
}

/** The fields of proc_pid_stat(5) from the third (the state) on: the command before them may hold blanks and parentheses. */
function readStat(pid: number): string[] | undefined {
  const text = readText(`/proc/${pid}/stat`)
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')
}

function bootId(): string {
  return readText('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
