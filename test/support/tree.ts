import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const LAUNCHER = fileURLToPath(new URL('../../bin/namesake', import.meta.url))
const READY_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 45_000

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

export type TreeOptions = { env?: Record<string, string>; args?: string[]; dataDir?: string; awaitReady?: boolean }

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
    ...options.env,
  }
  const child = spawn(LAUNCHER, ['start', ...(options.args ?? [])], {
    env: { ...bare(process.env), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
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
      const { stdout } = await promisify(execFile)(LAUNCHER, [...args, '--json'], { env: { ...bare(process.env), ...env } })
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
    await end(child, 'SIGKILL')
    throw new Error(`the tree did not become ready\n${output}`, { cause: error })
  }
  return tree
}

/** Waits until every role of the tree says that it serves. */
export async function untilReady(tree: Tree): Promise<void> {
  await eventually(async () => {
    if (tree.process.exitCode !== null) throw new Error(`it exited with ${tree.process.exitCode}`)
    return (await fetch(`${tree.internalUrl}/ready`)).status === 200
  }, READY_TIMEOUT_MS)
}

/** Asks again and again until the answer is true (a rejection counts as not yet); rejects with the last failure at the deadline. */
export async function eventually(check: () => Promise<boolean> | boolean, timeoutMs = 10_000, everyMs = 25): Promise<void> {
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

export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
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
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
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
