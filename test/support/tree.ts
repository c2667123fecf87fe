import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { signal as signalTo } from '../../src/processes.ts'
import { freePorts } from './ports.ts'

const LAUNCHER = fileURLToPath(new URL('../../bin/namesake', import.meta.url))
const READY_TIMEOUT_MS = 120_000
const STOP_TIMEOUT_MS = 45_000
const ANSWER_TIMEOUT_MS = 15_000

export type Tree = {
  apiUrl: string
  internalUrl: string
  httpPort: number
  httpsPort: number
  dataDir: string
  env: Record<string, string>
  process: ChildProcess
  output(): string
  /** Runs `namesake …args --json` against this tree and parses what it prints. */
  command<T>(...args: string[]): Promise<T>
  /** Ends it as Ctrl-C does; resolves with the exit code. */
  stop(): Promise<number | null>
  /** The supervisor and all its descendants, PostgreSQL included. */
  pids(): number[]
}

export type TreeOptions = {
  env?: Record<string, string>
  args?: string[]
  dataDir?: string
  awaitReady?: boolean
  /** Another copy of the project than this one, by its launcher. */
  launcher?: string
  cwd?: string
  user?: { uid: number; gid: number }
  /** As the leader of a process group of its own. */
  ownGroup?: boolean
}

/** One process of a tree as `/ready` shows it. */
export type ProcessState = {
  role: string
  pid: number
  ready: boolean
  lagMs?: number
  /** Of the follower: what it says of the machine's edge. */
  edge?: { behindMs: number }
  http1Connections?: number
  http2Connections?: number
}

/** A project in a tree, and the API as its token sees it. */
export type Vendor = {
  slug: string
  token: string
  call(path: string, init?: { method?: string; body?: unknown; at?: Tree }): Promise<Response>
  claim(hostname: string): Promise<void>
}

/** Starts `namesake start` as a process tree of its own on free loopback ports, and waits until every role serves. */
export async function startTree(options: TreeOptions = {}): Promise<Tree> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'namesake-tree-'))
  const [api, internal, http, https] = (await freePorts(4)) as [number, number, number, number]
  const env: Record<string, string> = {
    NAMESAKE_DATA_DIR: dataDir,
    NAMESAKE_API_ADDR: `127.0.0.1:${api}`,
    NAMESAKE_INTERNAL_ADDR: `127.0.0.1:${internal}`,
    NAMESAKE_HTTP_ADDR: `127.0.0.1:${http}`,
    NAMESAKE_HTTPS_ADDR: `127.0.0.1:${https}`,
    NAMESAKE_BASE_URL: `http://localhost:${api}`,
    NAMESAKE_PORTAL_URL: `http://localhost:${api}`,
    NAMESAKE_EDGE_WORKERS: '2',
    NAMESAKE_EDGE_RUNTIME: process.env.TEST_EDGE_RUNTIME ?? 'node',
    ...options.env,
  }
  const launcher = options.launcher ?? LAUNCHER
  const place = { cwd: options.cwd, ...options.user }
  const child = spawn(launcher, ['start', ...(options.args ?? [])], {
    ...place,
    env: { ...bare(process.env), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: options.ownGroup ?? false,
  })
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => (output += chunk))
  const port = (name: string) => Number(env[name]!.split(':').at(-1))
  const tree: Tree = {
    apiUrl: `http://${env.NAMESAKE_API_ADDR}`,
    internalUrl: `http://${env.NAMESAKE_INTERNAL_ADDR}`,
    httpPort: port('NAMESAKE_HTTP_ADDR'),
    httpsPort: port('NAMESAKE_HTTPS_ADDR'),
    dataDir,
    env,
    process: child,
    output: () => output,
    async command<T>(...args: string[]) {
      const { stdout } = await promisify(execFile)(launcher, [...args, '--json'], { ...place, env: { ...bare(process.env), ...env } })
      return JSON.parse(stdout) as T
    },
    async stop() {
      const code = await end(child, 'SIGTERM')
      if (!options.dataDir) rmSync(dataDir, { recursive: true, force: true })
      return code
    },
    pids: () => descendants(child.pid!),
  }
  try {
    if (options.awaitReady !== false) await untilReady(tree)
  } catch (error) {
    await tree.stop()
    throw new Error(`the tree did not become ready\n${output}`, { cause: error })
  }
  return tree
}

/** Starts several trees at once. When one of them fails, those that came up are stopped. */
export async function startTrees(...all: TreeOptions[]): Promise<Tree[]> {
  const outcomes = await Promise.allSettled(all.map(startTree))
  const failed = outcomes.find(({ status }) => status === 'rejected')
  const trees = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  if (!failed) return trees
  await Promise.all(trees.map((tree) => tree.stop()))
  throw (failed as PromiseRejectedResult).reason
}

/** Waits until every role of the tree says that it serves. */
export async function untilReady(tree: Tree): Promise<void> {
  const hasEnded = () => tree.process.exitCode !== null || tree.process.signalCode !== null
  await eventually(async () => hasEnded() || (await fetch(`${tree.internalUrl}/ready`)).status === 200, READY_TIMEOUT_MS)
  if (hasEnded()) throw new Error(`it exited with ${tree.process.exitCode ?? tree.process.signalCode}`)
}

/** What the tree says of its processes; narrowed to one role when asked. */
export async function processesOf(tree: Tree, role?: string): Promise<ProcessState[]> {
  const answer = await fetch(`${tree.internalUrl}/ready`, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) }) // the socket stays open while whoever answers is down
  const { processes } = (await answer.json()) as { processes: ProcessState[] }
  return role === undefined ? processes : processes.filter((one) => one.role === role)
}

/** Makes a project whose hostnames lead to the upstream, with a token for it. */
export async function addVendor(tree: Tree, slug: string, upstreamUrl: string): Promise<Vendor> {
  await tree.command('projects', 'create', '--name', slug, '--slug', slug, '--upstream', upstreamUrl)
  const { token } = await tree.command<{ token: string }>('tokens', 'issue', '--project', slug)
  const call: Vendor['call'] = (path, { method = 'GET', body, at = tree } = {}) =>
    fetch(`${at.apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
  const claim = async (hostname: string) => {
    const answer = await call('/v1/edge/domains', { method: 'POST', body: { hostname } })
    if (answer.status !== 200) throw new Error(`${hostname} could not be claimed: ${await answer.text()}`)
  }
  return { slug, token, call, claim }
}

/** The root of what the tree's own authority issues, PEM. */
export function localRoot(tree: Tree): string {
  return readFileSync(join(tree.dataDir, 'ca.pem'), 'utf8')
}

/** Asks again and again until the answer is true (a rejection counts as not yet); rejects with the last failure at the deadline. */
export async function eventually(check: () => Promise<boolean> | boolean, timeoutMs = 30_000, everyMs = 25): Promise<void> {
  const deadline = performance.now() + timeoutMs
  let last: unknown
  while (performance.now() < deadline) {
    try {
      if (await check()) return
    } catch (error) {
      last = error
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
  throw new Error(`not within ${timeoutMs} ms`, { cause: last })
}

function bare(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(NAMESAKE_|VITEST|NODE_OPTIONS)/.test(name))) as Record<
    string,
    string
  >
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve))
  child.kill(signal)
  const killAll = () => {
    for (const pid of descendants(child.pid!)) signalTo(pid, 'SIGKILL')
  }
  const timer = setTimeout(killAll, STOP_TIMEOUT_MS)
  const code = await gone
  clearTimeout(timer)
  return code
}

function descendants(pid: number): number[] {
  let children: number[] = []
  try {
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
  return [pid, ...children.flatMap(descendants)]
}
