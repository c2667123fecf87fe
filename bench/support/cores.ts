import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

// What is measured has a core of its own; load, upstream and everything else share the other.
export const MEASURED_CORE = 0
export const LOAD_CORE = 1 % availableParallelism()

/** The command as one that runs on this core alone. */
export function onCore(core: number, command: readonly string[]): [string, string[]] {
  return ['taskset', ['-c', String(core), ...command]]
}

/** Moves a running process with all its threads to this core. */
export function moveToCore(core: number, pid: number): void {
  execFileSync('taskset', ['-a', '-cp', String(core), String(pid)], { stdio: 'ignore' })
}
