import { type ChildProcess, spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import type { Socket } from 'node:net'
import { devNull } from 'node:os'
import { createInterface } from 'node:readline'
import type { Env } from './config.ts'
import { fileDescriptorsMax } from './file-descriptors.ts'
import type { ProgramAccess } from './program-folder.ts'
import type { ProcessReport } from './roles/role.ts'

/** What a child says to its supervisor. */
export type FromChild =
  | { type: 'ready' }
  | { type: 'waiting' }
  | { type: 'gather'; id: number; role?: string | undefined }
  | { type: 'report'; id: number; report: ProcessReport }
  | { type: 'failed'; message: string }

/** What the supervisor says to a child. */
export type ToChild = { type: 'report'; id: number } | { type: 'in-charge' } | { type: 'gathered'; id: number; reports: ProcessReport[] }

/** How a process ended: `reason` in words, with what it gave as the cause, if it did. */
export type Ending = { code: number | null; reason: string }

/** One process of a role, from its start to its end. */
export type Child = {
  pid: number | undefined
  /** True once it serves, false when it ends before. */
  ready: Promise<boolean>
  /** Resolves when it waits for something of which its predecessor must let go. */
  waits: Promise<void>
  ended: Promise<Ending>
  send(message: ToChild): void
  signal(name: NodeJS.Signals): void
}

/** Where the lines that children write go: straight to a descriptor, or through a function. */
export type Output = { fd: number } | { write(line: string): void }

/**
 * What runs a script: a program, flags of its own, and what it wants in the environment, where that has no other wish. `descriptors`: so many it shall have
 * room for from the start, or as many as the system allows (docs/decisions/0098).
 */
export type Runtime = {
  program: string
  flags: readonly string[]
  env: Readonly<Record<string, string>>
  descriptors?: number
}

type Stdio = 'ignore' | 'pipe' | 'ipc' | number

export type ChildParts = {
  program: ProgramAccess
  role: string
  env: Env
  /** The settings of a `.env`, which go through a pipe: the file may be half edited by now, and an environment shows its secrets to whoever sees the process. */
  dotEnv: Env
  /** Descriptors of the listening sockets that it shares, by name. */
  sockets: Readonly<Record<string, number>>
  output: Output
  /** Node unless told otherwise. */
  runtime?: Runtime
  onMessage?(message: FromChild): void
}

/** The one that runs this process. By SIGUSR1, which scripts send that have moved a log, anybody on the machine could else debug it. */
export const NODE: Runtime = { program: process.execPath, flags: ['--disable-warning=ExperimentalWarning', '--disable-sigusr1'], env: {} }

const LAST_WORDS_MS = 500
const LIBUV_DESCRIPTORS = 64 // it moves the child's own behind all others before it puts them where they belong
/** /dev/null, from when it was first wanted. */
let nothing: number | undefined
const DOT_ENV_FD = 4
/** The first descriptor of a child after standard input, output, error, the channel to us and its `.env`. */
export const FIRST_FREE_FD = 5

/**
 * Starts `node <script> <role>`, or another runtime in its place, with the sockets as descriptors, which NAMESAKE_LISTEN names, and its `.env` behind
 * the one that NAMESAKE_DOT_ENV names. Never throws: one that cannot be started, as without memory for it, has ended for that reason.
 */
export function spawnChild(parts: ChildParts): Child {
  try {
    return spawnOrThrow(parts)
  } catch (error) {
    const ended = Promise.resolve({ code: null, reason: (error as Error).message })
    return { pid: undefined, ready: Promise.resolve(false), waits: new Promise(() => {}), ended, send() {}, signal() {} }
  }
}

function spawnOrThrow(parts: ChildParts): Child {
  const { script, options, fds } = parts.program
  const names = Object.keys(parts.sockets)
  const listen = Object.fromEntries(names.map((name, i) => [name, FIRST_FREE_FD + fds.length + i]))
  const words = 'fd' in parts.output ? parts.output.fd : 'pipe'
  const stdio: Stdio[] = ['ignore', words, words, 'ipc', 'pipe', ...fds, ...Object.values(parts.sockets)]
  const runtime = parts.runtime ?? NODE
  const env = { ...runtime.env, ...parts.env, NAMESAKE_LISTEN: JSON.stringify(listen), NAMESAKE_DOT_ENV: String(DOT_ENV_FD) }
  if (runtime.descriptors) makeRoom(stdio, Math.min(runtime.descriptors, fileDescriptorsMax() ?? 0))
  const child = spawn(runtime.program, [...runtime.flags, ...options, script, parts.role], { cwd: parts.program.folder?.(), env, stdio })
  handOver(child, parts.dotEnv)
  if ('write' in parts.output) passLines(child, parts.output.write)

  const ready = Promise.withResolvers<boolean>()
  const waits = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<Ending>()
  let cause: string | undefined
  child.on('message', (message: FromChild) => {
    if (message.type === 'ready') ready.resolve(true)
    if (message.type === 'waiting') waits.resolve()
    if (message.type === 'failed') cause = message.message
    parts.onMessage?.(message)
  })
  const end = (code: number | null, how: string) => {
    ready.resolve(false)
    ended.resolve({ code, reason: cause ?? how })
  }
  child.once('error', (error) => end(null, error.message))
  child.once('exit', (code, killedBy) => {
    const finish = () => end(code, killedBy ?? `exit code ${code}`)
    if (!child.connected) return finish()
    child.once('disconnect', finish) // its last words may still be on the way
    setTimeout(finish, LAST_WORDS_MS).unref()
  })

  return {
    pid: child.pid,
    ready: ready.promise,
    waits: waits.promise,
    ended: ended.promise,
    send(message) {
      if (child.connected) child.send(message, () => {})
    },
    signal: (name) => void child.kill(name),
  }
}

/**
 * The kernel makes a process's table of descriptors as large as the highest of those it begins with, and doubles it later: with threads running that
 * stops the one that wants a descriptor for as long as all processors take to look away, 5 to 20 ms each time (`expand_fdtable` in Linux's fs/file.c).
 * So one of the last that fit is taken by /dev/null.
 */
function makeRoom(stdio: Stdio[], descriptors: number): void {
  const last = descriptors - LIBUV_DESCRIPTORS
  if (last <= stdio.length) return
  while (stdio.length < last) stdio.push('ignore') // nothing is opened for these: libuv does so for the first three only
  nothing ??= openSync(devNull, 'r')
  stdio.push(nothing)
}

function handOver({ stdio }: Partial<ChildProcess>, dotEnv: Env): void {
  const pipe = stdio?.[DOT_ENV_FD] as Socket | undefined // none where there was no descriptor left for it: then there is no child either
  pipe?.on('error', () => {}) // how a child ends that reads nothing is said elsewhere
  pipe?.resume().end(JSON.stringify(dotEnv))
}

function passLines(child: ChildProcess, write: (line: string) => void): void {
  for (const stream of [child.stdout, child.stderr]) if (stream) createInterface(stream).on('line', write)
}
