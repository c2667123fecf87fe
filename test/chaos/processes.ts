import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { signal } from '../../src/processes.ts'

/** A program of the fleet with all that it started, as one thing to be killed or stopped. */
export type Program = {
  pid: number
  hasEnded(): boolean
  /** Itself and its descendants. */
  pids(): number[]
  /** kill -9 of all of it at once. */
  kill(): Promise<void>
  /** Every process stands still until `resume`. */
  pause(): void
  resume(): void
  stop(name?: NodeJS.Signals): Promise<void>
}

const STOP_TIMEOUT_MS = 15_000

const atExit = new Set<() => void>()
process.once('exit', () => {
  for (const kill of atExit) kill()
})

/** Starts it with its output at the end of a file. */
export function startProgram(
  command: readonly string[],
  options: { logFile: string; env?: Record<string, string>; cwd?: string },
): Program {
  const log = openSync(options.logFile, 'a')
  const env = { PATH: process.env.PATH!, LANG: 'C.UTF-8', ...options.env }
  // A group of its own: Ctrl-C at the terminal is for the run, which ends it in its turn.
  const child = spawn(command[0]!, command.slice(1), { env, cwd: options.cwd, stdio: ['ignore', log, log], detached: true })
  const gone = once(child, 'exit').catch(() => {}) // it could not be started: its log file says nothing, its user will find out
  const hasEnded = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null
  const pids = () => (child.pid === undefined ? [] : descendants(child.pid))
  const all = (name: NodeJS.Signals) => {
    for (const pid of pids()) signal(pid, name)
  }
  const killAtOnce = () => {
    all('SIGSTOP') // so that nothing is born while the rest dies
    all('SIGKILL')
  }
  const kill = async () => {
    if (hasEnded()) return
    killAtOnce()
    await gone
  }
  atExit.add(killAtOnce)
  void gone.then(() => atExit.delete(killAtOnce))
  return {
    pid: child.pid ?? -1,
    hasEnded,
    pids,
    kill,
    pause: () => all('SIGSTOP'),
    resume: () => all('SIGCONT'),
    async stop(name = 'SIGTERM') {
      if (hasEnded()) return
      child.kill(name)
      const timer = setTimeout(() => void kill(), STOP_TIMEOUT_MS)
      await gone
      clearTimeout(timer)
    },
  }
}

/** Runs it to its end; rejects with what it said when that is not good. */
export async function runToEnd(command: readonly string[], options: { env?: Record<string, string>; cwd?: string } = {}): Promise<string> {
  const env = { PATH: process.env.PATH!, LANG: 'C.UTF-8', ...options.env }
  const child: ChildProcess = spawn(command[0]!, command.slice(1), { env, cwd: options.cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) child[name]!.setEncoding('utf8').on('data', (text: string) => (said[name] += text))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${said.stderr || said.stdout}`)
  return said.stdout
}

/** The process and all that it and its children have started, itself first. */
export function descendants(pid: number): number[] {
  let children: number[] = []
  try {
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
  return [pid, ...children.flatMap(descendants)]
}
