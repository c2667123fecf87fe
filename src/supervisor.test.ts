import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { freePorts } from '../test/support/ports.ts'
import { createTestDatabase } from '../test/support/postgres.ts'
import { eventually } from '../test/support/tree.ts'
import { commandOf, identify, isRunning, isStill, listProcesses, signal, workingFolderOf } from './processes.ts'
import { readRecord } from './supervisor-record.ts'

const FIXTURE = fileURLToPath(new URL('../test/support/supervisor.fixture.ts', import.meta.url))
/** A process takes seconds to start on a busy machine, a release or a database some of them. */
const IN_TIME_MS = 90_000
const NAMES = ['API', 'INTERNAL', 'HTTP', 'HTTPS']

type Answer = { role: string; socket: string; pid: number; ppid: number; runtime: string }
type Started = {
  process: ChildProcess
  dataDir: string
  ports: number[]
  output(): string
  exited: Promise<number | null>
  ask(name: string, path?: string): Promise<Answer>
}

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function launch(
  env: Record<string, string | undefined> = {},
  given: { dataDir?: string; ports?: number[]; before?: string[]; cwd?: string } = {},
): Promise<Started> {
  const dataDir = given.dataDir ?? makeDataDir()
  const ports = given.ports ?? (await freePorts(4))
  const addresses = Object.fromEntries(NAMES.map((name, i) => [`NAMESAKE_${name}_ADDR`, `127.0.0.1:${ports[i]}`]))
  const settings = { PATH: process.env.PATH!, NAMESAKE_DATA_DIR: dataDir, NAMESAKE_EDGE_WORKERS: '2', ...addresses, ...env }
  const [program, ...args] = [...(given.before ?? []), process.execPath, FIXTURE]
  const child = spawn(program!, args, { cwd: given.cwd, env: settings, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => (output += chunk))
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  cleanUps.push(async () => {
    child.kill('SIGTERM')
    await exited
  })
  const ask = async (name: string, path = '/') =>
    (await (await fetch(`http://127.0.0.1:${ports[NAMES.indexOf(name)]}${path}`, { headers: { connection: 'close' } })).json()) as Answer
  return { process: child, dataDir, ports, output: () => output, exited, ask }
}

async function start(...args: Parameters<typeof launch>): Promise<Started> {
  const started = await launch(...args)
  await Promise.race([
    eventually(() => started.output().includes('"dataDir"'), IN_TIME_MS),
    started.exited.then((code) => {
      throw new Error(`ended with ${code}: ${started.output()}`)
    }),
  ])
  return started
}

function makeDataDir(): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'namesake-supervisor-'))
  cleanUps.push(() => rmSync(dataDir, { recursive: true, force: true }))
  return dataDir
}

/** As if there were a local copy from before. */
const putCopy = (dataDir: string) => symlinkSync('routes.sqlite.0123456789abcdef', join(dataDir, 'copy', 'routes.sqlite'))

/** A connection to the edge with a request that has only begun. */
async function askSlowly(tree: Started): Promise<Socket> {
  const socket = connect(tree.ports[NAMES.indexOf('HTTPS')]!, '127.0.0.1').on('error', () => {})
  cleanUps.push(() => socket.destroy())
  await once(socket, 'connect')
  socket.write('GET / HTTP/1.1\r\nHost: slow\r\n')
  return socket
}

const childrenOf = (pid: number) => listProcesses().filter((other) => parentOf(other) === pid)

/** The process id of the tree's embedded database, while that runs. */
function databaseOf({ dataDir }: Started): number | undefined {
  const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
  const pid = existsSync(pidFile) ? Number.parseInt(readFileSync(pidFile, 'utf8'), 10) : Number.NaN
  return isRunning(pid) ? pid : undefined
}

function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    return 0
  }
}

test('every role answers on its socket, and nothing is left after SIGTERM', async () => {
  const tree = await start()
  const answers = await Promise.all(['API', 'INTERNAL', 'HTTP', 'HTTPS'].map((name) => tree.ask(name)))
  expect(answers.map(({ socket }) => socket)).toEqual(['api', 'internal', 'http', 'https'])
  expect(answers.map(({ role }) => role)).toEqual(['api', expect.stringMatching(/^(follower|api)$/), 'edge', 'edge'])
  const children = childrenOf(tree.process.pid!)
  expect(children).toHaveLength(6) // follower, two edges, api, worker, PostgreSQL
  const api = children.find((pid) => commandLine(pid).endsWith('\0api\0'))
  expect(readFileSync(`/proc/${api}/environ`, 'utf8')).toContain('UV_THREADPOOL_SIZE=256') // names of upstreams that nobody answers for hold up no others
  tree.process.kill('SIGTERM')
  expect(await tree.exited).toBe(0)
  expect(children.filter(isRunning)).toEqual([])
})

test('NAMESAKE_EDGE_RUNTIME=bun has the edge processes run on Bun, and no others', async () => {
  const tree = await start({ NAMESAKE_EDGE_RUNTIME: 'bun' })
  const answers = await Promise.all(['API', 'INTERNAL', 'HTTP', 'HTTPS'].map((name) => tree.ask(name)))
  expect(answers.map(({ runtime }) => runtime)).toEqual(['node', 'node', 'bun', 'bun'])
  const reports = (await tree.ask('INTERNAL', '/gather')) as unknown as { role: string; ready: boolean }[]
  expect(reports.filter(({ role, ready }) => role === 'edge' && ready)).toHaveLength(2)
  tree.process.kill('SIGTERM')
  expect(await tree.exited).toBe(0)
})

test('one process can ask for the reports of all', async () => {
  const tree = await start()
  const reports = (await tree.ask('INTERNAL', '/gather')) as unknown as { role: string; ready: boolean }[]
  expect(reports.map(({ role }) => role).sort()).toEqual(['api', 'edge', 'edge', 'follower', 'worker'])
  expect(reports.every(({ ready }) => ready)).toBe(true)
})

test.each([
  ['edge', ['follower', 'edge', 'edge'], ['follower']],
  ['worker', ['worker'], ['worker']],
  ['api', ['follower', 'api'], ['follower', 'api']],
  ['worker,edge', ['follower', 'edge', 'edge', 'worker'], ['follower', 'worker']],
  ['dns', ['dns'], ['dns']],
])('--roles %s starts what it needs, and the internal address is answered', async (roles, expected, internal) => {
  const tree = await start({ FIXTURE_ROLES: roles })
  const answering = new Set<string>()
  await eventually(async () => answering.add((await tree.ask('INTERNAL')).role).size === internal.length, IN_TIME_MS)
  expect([...answering].sort()).toEqual(internal.toSorted())
  const reports = (await tree.ask('INTERNAL', '/gather')) as unknown as { role: string }[]
  expect(reports.map(({ role }) => role)).toEqual(expected)
})

test('a child that is killed is started again, its connections wait meanwhile, and one line says so', async () => {
  const tree = await start()
  const { pid } = await tree.ask('API')
  process.kill(pid, 'SIGKILL')
  await eventually(() => !isRunning(pid))
  expect((await tree.ask('API')).pid).not.toBe(pid) // the listening socket never closed
  expect(tree.output()).toMatch(/api ended \(SIGKILL\): starting it again in \d+ ms/)
})

test('a child that cannot start is tried again with growing pauses', async () => {
  const tree = await launch({ FIXTURE_CRASHES: 'worker' })
  const pauses = () =>
    [...tree.output().matchAll(/worker ended \(exit code 3\): starting it again in (\d+) ms/g)].map((match) => Number(match[1]))
  await eventually(() => pauses().length >= 4, IN_TIME_MS)
  expect(pauses()[3]).toBeGreaterThan(pauses()[0]! * 3)
})

test('SIGHUP replaces every process, and no request meets a closed door', async () => {
  const tree = await start()
  const former = childrenOf(tree.process.pid!)
  const before = new Set<number>()
  await eventually(async () => before.add((await tree.ask('HTTPS')).pid).size === 2)
  tree.process.kill('SIGHUP')
  const turnedAway: unknown[] = []
  while (!tree.output().includes('reload: 5 processes were replaced'))
    await tree.ask('HTTPS').catch((error: unknown) => turnedAway.push(error))
  expect(turnedAway).toEqual([])
  await eventually(() => former.filter(isRunning).length === 1) // PostgreSQL
  expect(before.has((await tree.ask('HTTPS')).pid)).toBe(false)
})

test('a wish that comes before everything serves, or while everything stops, is refused, and nothing else comes of it', async () => {
  const dataDir = join(makeDataDir(), 'made-by-the-start')
  const tree = await launch({}, { dataDir })
  const wish = () => ['SIGHUP', 'SIGUSR2'].map((name) => tree.process.kill(name as NodeJS.Signals))
  await eventually(() => existsSync(dataDir), IN_TIME_MS, 1)
  wish()
  await eventually(() => tree.output().includes('"dataDir"'), IN_TIME_MS)
  for (const kind of ['reload', 'upgrade']) expect(tree.output()).toContain(`${kind}: not before everything serves`)
  const all = childrenOf(tree.process.pid!)
  const slow = await askSlowly(tree)
  tree.process.kill('SIGTERM')
  await eventually(() => tree.output().includes('stopping'))
  wish()
  for (const kind of ['reload', 'upgrade']) await eventually(() => tree.output().includes(`${kind}: refused`))
  slow.destroy()
  expect(await tree.exited).toBe(0)
  expect(all.filter(isRunning)).toEqual([])
})

test('a reload whose successors cannot start changes nothing, and says why', async () => {
  const refusal = join(makeDataDir(), 'refusal')
  const tree = await start({ FIXTURE_REFUSAL: refusal })
  const before = (await tree.ask('API')).pid
  writeFileSync(refusal, 'the secret is another')
  tree.process.kill('SIGHUP')
  const said = 'what was not replaced yet stays, since the successor of worker did not come up: the secret is another'
  await eventually(() => tree.output().includes(said), IN_TIME_MS).catch((cause: unknown) =>
    Promise.reject(new Error(tree.output(), { cause })),
  )
  expect((await tree.ask('API')).pid).toBe(before)
})

test('a reload with another listen address replaces nothing and says that it takes a restart, before and after an upgrade', async () => {
  const folder = makeDataDir()
  const ports = await freePorts(5)
  const listenAt = (port: number) => writeFileSync(join(folder, '.env'), `NAMESAKE_HTTPS_ADDR=127.0.0.1:${port}\n`)
  listenAt(ports[3]!)
  const tree = await start({ NAMESAKE_HTTPS_ADDR: undefined }, { ports, cwd: folder })
  const said = `reload: nothing was replaced: the listening sockets stay as they are while the service runs, and the settings now say NAMESAKE_HTTPS_ADDR=127.0.0.1:${ports[4]}: stop, and start again`
  for (const round of [1, 2]) {
    const before = (await tree.ask('API')).pid
    listenAt(ports[4]!)
    tree.process.kill('SIGHUP')
    await eventually(() => tree.output().split(said).length > round, IN_TIME_MS)
    expect((await tree.ask('API')).pid).toBe(before)
    listenAt(ports[3]!)
    if (round === 1) tree.process.kill('SIGUSR2')
    await eventually(() => tree.output().includes('was replaced by version'), IN_TIME_MS)
  }
  tree.process.kill('SIGHUP')
  await eventually(() => tree.output().includes('reload: 5 processes were replaced'), IN_TIME_MS)
})

test('a full disk keeps no reload from being made, and the record is made good as soon as there is room', async () => {
  const tree = await start()
  const inTheWay = join(tree.dataDir, 'supervisor.json.next')
  mkdirSync(inTheWay) // fails a write as a full disk does
  for (const round of [1, 2]) {
    tree.process.kill('SIGHUP')
    await eventually(() => tree.output().split('reload: 5 processes were replaced').length > round, IN_TIME_MS)
  }
  expect(tree.output()).toContain('supervisor.json cannot be written')
  rmdirSync(inTheWay)
  const supervisor = identify(tree.process.pid!)!
  await eventually(() => readRecord(tree.dataDir, supervisor)?.deploy?.state === 'done')
  expect(readRecord(tree.dataDir, supervisor)?.deploy?.number).toBe(2)
})

test('SIGUSR2 lets the program on disk take over: nobody meets a closed door, the database goes on, and the process id stays', async () => {
  const tree = await start()
  for (const round of [1, 2]) {
    const former = childrenOf(tree.process.pid!).flatMap((pid) => [pid, ...childrenOf(pid)])
    tree.process.kill('SIGUSR2')
    const turnedAway: unknown[] = []
    const ended = () => tree.output().split('was replaced by version').length > round
    while (!ended())
      await Promise.all(['HTTPS', 'API', 'INTERNAL'].map((name) => tree.ask(name))).catch((error: unknown) => turnedAway.push(error))
    expect(turnedAway).toEqual([])
    await eventually(() => former.filter(isRunning).every((pid) => commandLine(pid).includes('postgres')))
    const reports = (await tree.ask('INTERNAL', '/gather')) as unknown as { role: string; pid: number; ready: boolean }[]
    expect(reports.map(({ role }) => role).sort()).toEqual(['api', 'edge', 'edge', 'follower', 'worker'])
    expect(reports.some(({ pid }) => former.includes(pid))).toBe(false)
  }
  const all = childrenOf(tree.process.pid!).flatMap((pid) => [pid, ...childrenOf(pid)])
  tree.process.kill('SIGTERM')
  expect(await tree.exited).toBe(0)
  expect(all.filter(isRunning)).toEqual([])
})

test('a release that took over lets its requests end when the next has come, all else of it ends at once, and a stop waits for it, too', async () => {
  const tree = await start()
  const upgraded = (rounds: number, said: string) => eventually(() => tree.output().split(said).length > rounds, IN_TIME_MS)
  tree.process.kill('SIGUSR2')
  await upgraded(1, 'was replaced by version')
  const [former] = childrenOf(tree.process.pid!).filter((pid) => commandLine(pid).includes(FIXTURE))
  await askSlowly(tree)
  tree.process.kill('SIGUSR2')
  await upgraded(2, 'the former processes let their running requests end')
  await eventually(() => childrenOf(former!).length === 1) // an edge process
  expect((await tree.ask('API')).role).toBe('api')
  const all = childrenOf(tree.process.pid!).flatMap((pid) => [pid, ...childrenOf(pid)])
  expect(all).toContain(former)
  const hasEnded = () => !tree.process.kill('SIGINT') // the second of which ends everything at once
  await eventually(hasEnded, IN_TIME_MS, 700)
  expect(await tree.exited).toBe(130)
  expect(all.filter(isRunning)).toEqual([])
})

test('a stop waits for a release that took over, with slow visitors and a slow database, and leaves neither behind', async () => {
  const tree = await start()
  tree.process.kill('SIGUSR2')
  await eventually(() => tree.output().includes('was replaced by version'), IN_TIME_MS)
  await askSlowly(tree)
  const database = databaseOf(tree)!
  cleanUps.push(() => signal(database, 'SIGKILL'))
  const all = childrenOf(tree.process.pid!).flatMap((pid) => [pid, ...childrenOf(pid)])
  signal(database, 'SIGSTOP') // as one that waits for its disk
  tree.process.kill('SIGTERM')
  expect(await tree.exited).toBe(0)
  await eventually(() => !all.some(isRunning)) // PostgreSQL's own processes see that their first has gone
})

test('a folder of a former release may go once the link leads to another: processes still start, and the next release in its own', async () => {
  const place = makeDataDir()
  for (const name of ['one', 'two']) mkdirSync(join(place, name))
  const link = join(place, 'current')
  symlinkSync('one', link)
  const tree = await start({ PWD: link }, { cwd: link })
  rmSync(link)
  symlinkSync('two', link)
  rmSync(join(place, 'one'), { recursive: true })
  const { pid } = await tree.ask('API')
  process.kill(pid, 'SIGKILL')
  await eventually(() => !isRunning(pid))
  expect(workingFolderOf((await tree.ask('API')).pid)).toBe(join(place, 'two'))
  tree.process.kill('SIGUSR2')
  await eventually(() => tree.output().includes('was replaced by version'), IN_TIME_MS).catch((cause: unknown) =>
    Promise.reject(new Error(tree.output(), { cause })),
  )
  expect(workingFolderOf((await tree.ask('API')).pid)).toBe(join(place, 'two'))
})

test('where the folder of the start has gone, processes start in the data directory, but not without the settings that went with it', async () => {
  for (const hasDotEnv of [false, true]) {
    const folder = makeDataDir()
    if (hasDotEnv) writeFileSync(join(folder, '.env'), 'NAMESAKE_LOG_LEVEL=info\n')
    const tree = await start({}, { cwd: folder })
    rmSync(folder, { recursive: true })
    const { pid } = await tree.ask('API')
    process.kill(pid, 'SIGKILL')
    await eventually(() => !isRunning(pid))
    expect(workingFolderOf((await tree.ask('API')).pid)).toBe(hasDotEnv ? `${folder} (deleted)` : tree.dataDir) // where a real one gives up
  }
})

test('a successor that cannot start changes nothing, and its reason is said', async () => {
  const dataDir = makeDataDir()
  const program = join(makeDataDir(), 'next-release')
  const tree = await start({ FIXTURE_NEXT: program }, { dataDir })
  const serving = await tree.ask('API')
  const says = async (text: string) => {
    tree.process.kill('SIGUSR2')
    await eventually(() => tree.output().includes(text), IN_TIME_MS).catch((cause: unknown) =>
      Promise.reject(new Error(tree.output(), { cause })),
    )
    expect((await tree.ask('API')).pid).toBe(serving.pid)
  }
  await says('ENOENT')
  writeFileSync(program, '#!/bin/sh\nexit 7\n', { mode: 0o755 })
  await says('the present processes go on, since the new ones did not come up: exit code 7')
  writeFileSync(program, `#!/bin/sh\nFIXTURE_SETUP_FAILS='the schema is another' exec ${process.execPath} ${FIXTURE}\n`)
  await says('did not come up: the schema is another')
  writeFileSync(program, `#!/bin/sh\nNAMESAKE_API_ADDR=127.0.0.1:1 exec ${process.execPath} ${FIXTURE}\n`)
  await says('did not come up: the listening sockets stay as they are while the service runs, and the settings now say NAMESAKE_API_ADDR=')
  const dies = `data:text/javascript,process.on("message",({task})=>task==="takeCharge"&&process.kill(process.pid,"SIGKILL"))`
  writeFileSync(program, `#!/bin/sh\nexec ${process.execPath} --import '${dies}' ${FIXTURE}\n`)
  await says('did not come up: SIGKILL') // at the last moment, with everything handed over
  const reports = async () => (await tree.ask('INTERNAL', '/gather')) as unknown as { role: string; ready: boolean }[]
  await eventually(async () => (await reports()).filter(({ ready }) => ready).length === 5)
})

test('a release that cannot take the local copy over gives it back before it ends, however long that takes', async () => {
  const program = join(makeDataDir(), 'next-release')
  const tree = await start({ FIXTURE_NEXT: program })
  writeFileSync(program, `#!/bin/sh\nFIXTURE_WAITS=follower FIXTURE_STUBBORN=worker exec ${process.execPath} ${FIXTURE}\n`, { mode: 0o755 })
  const childOf = (parent: number, role: string) => childrenOf(parent).find((pid) => commandOf(pid).at(-1) === role)
  const [supervisor, former] = [tree.process.pid!, childOf(tree.process.pid!, 'follower')]
  tree.process.kill('SIGUSR2')
  await eventually(() => tree.output().includes('handing the local copy over'), IN_TIME_MS)
  await eventually(() => ![undefined, former].includes(childOf(supervisor, 'follower')), IN_TIME_MS)
  const successor = childrenOf(supervisor).find((pid) => commandOf(pid).includes(FIXTURE))!
  await eventually(() => childOf(successor, 'follower') === undefined)
  expect(tree.output()).not.toContain('did not come up')
  signal(childOf(successor, 'worker')!, 'SIGKILL')
  await eventually(() => tree.output().includes('did not come up: the local copy was not taken over within'))
  expect(childOf(supervisor, 'follower')).toBeDefined()
})

test('a database that dies while a release is about to take over is started again', async () => {
  const program = join(makeDataDir(), 'next-release')
  const tree = await start({ FIXTURE_NEXT: program })
  writeFileSync(program, `#!/bin/sh\nFIXTURE_CRASHES=worker exec ${process.execPath} ${FIXTURE}\n`, { mode: 0o755 })
  tree.process.kill('SIGUSR2')
  await eventually(() => tree.output().includes('worker ended'), IN_TIME_MS)
  const died = databaseOf(tree)!
  process.kill(died, 'SIGKILL')
  await eventually(() => ![undefined, died].includes(databaseOf(tree)), IN_TIME_MS)
  const all = [databaseOf(tree)!, ...childrenOf(tree.process.pid!)]
  tree.process.kill('SIGTERM')
  expect(await tree.exited).toBe(0)
  expect(all.filter(isRunning)).toEqual([])
})

test('an upgrade can lead from the embedded database to another and back, and the embedded one runs for as long as it is used', async () => {
  const other = await createTestDatabase()
  cleanUps.push(other.drop)
  const program = join(makeDataDir(), 'next-release')
  const tree = await start({ FIXTURE_NEXT: program })
  const upgradeWith = async (settings: string, round: number) => {
    writeFileSync(program, `#!/bin/sh\n${settings} exec ${process.execPath} ${FIXTURE}\n`, { mode: 0o755 })
    tree.process.kill('SIGUSR2')
    await eventually(() => tree.output().split('was replaced by version').length > round, IN_TIME_MS)
  }
  expect(databaseOf(tree)).toBeDefined()
  await upgradeWith(`NAMESAKE_DATABASE_URL='${other.url}' NAMESAKE_SECRET=${'x'.repeat(32)}`, 1)
  expect(databaseOf(tree)).toBeUndefined()
  await upgradeWith('', 2)
  expect(databaseOf(tree)).toBeDefined()
  await upgradeWith(`NAMESAKE_DATABASE_URL='${other.url}' NAMESAKE_SECRET=${'x'.repeat(32)}`, 3)
  await eventually(() => databaseOf(tree) === undefined)
  tree.process.kill('SIGTERM')
  expect(await tree.exited).toBe(0)
})

test('after kill -9 of the first process a release that only starts ends, and holds no port against the next start', async () => {
  const dataDir = makeDataDir()
  const program = join(makeDataDir(), 'next-release')
  const first = await start({ FIXTURE_NEXT: program }, { dataDir })
  writeFileSync(program, `#!/bin/sh\nFIXTURE_SETUP_HANGS=yes exec ${process.execPath} ${FIXTURE}\n`, { mode: 0o755 })
  first.process.kill('SIGUSR2')
  const starting = () => childrenOf(first.process.pid!).find((pid) => childrenOf(pid).some((other) => commandOf(other).at(-1) === 'setup'))
  await eventually(() => starting() !== undefined, IN_TIME_MS)
  const successor = starting()!
  cleanUps.push(() => signal(successor, 'SIGKILL'))
  first.process.kill('SIGKILL')
  await first.exited
  await eventually(() => !isRunning(successor))
  const second = await start({}, { dataDir, ports: first.ports })
  expect(second.output()).toMatch(/"database":"adopted"/)
})

test('after kill -9 of the first process the successor in charge ends too, and the next start takes everything over', async () => {
  const dataDir = makeDataDir()
  const first = await start({}, { dataDir })
  first.process.kill('SIGUSR2')
  await eventually(() => first.output().includes('was replaced by version'), IN_TIME_MS)
  const orphans = childrenOf(first.process.pid!).flatMap((pid) => [pid, ...childrenOf(pid)])
  const slow = await askSlowly(first) // which keeps one edge process, and nobody else
  first.process.kill('SIGKILL')
  await first.exited
  const second = await start({}, { dataDir, ports: first.ports })
  expect(second.output()).toMatch(/"database":"adopted"/)
  slow.destroy()
  await eventually(() => orphans.filter(isRunning).every((pid) => commandLine(pid).includes('postgres')))
  expect((await second.ask('API')).role).toBe('api')
})

test('after kill -9 of the supervisor its children end by themselves, and the next start takes everything over', async () => {
  const dataDir = makeDataDir()
  const first = await start({}, { dataDir })
  const orphans = childrenOf(first.process.pid!)
  const postgres = orphans.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('postgres'))
  first.process.kill('SIGKILL')
  await first.exited
  const second = await start({}, { dataDir, ports: first.ports })
  expect(second.output()).toMatch(/"database":"adopted"/)
  expect(orphans.filter(isRunning)).toEqual(postgres)
  second.process.kill('SIGTERM')
  expect(await second.exited).toBe(0)
  expect(orphans.filter(isRunning)).toEqual([])
})

test('a second start on the same data says who runs already', async () => {
  const tree = await start()
  const second = await launch({}, { dataDir: tree.dataDir })
  expect(await second.exited).toBe(1)
  expect(second.output()).toContain(`already running on ${tree.dataDir} (process ${tree.process.pid})`)
  expect((await tree.ask('API')).role).toBe('api')
})

test.runIf(process.getuid!() === 0 && spawnSync('unshare', ['-pf', '--mount-proc', 'true']).status === 0)(
  'a start in another container on the same data is refused, and the running database is left alone',
  async () => {
    const tree = await start()
    const pidFile = readFileSync(join(tree.dataDir, 'postgres', 'postmaster.pid'), 'utf8')
    const second = await launch({}, { dataDir: tree.dataDir, before: ['unshare', '-pf', '--mount-proc'] })
    expect(await second.exited).toBe(1)
    expect(second.output()).toContain(`failed: already running on ${tree.dataDir}, in another container`)
    expect(readFileSync(join(tree.dataDir, 'postgres', 'postmaster.pid'), 'utf8')).toBe(pidFile)
    tree.process.kill('SIGUSR2') // whose successor asks for the first process's lock
    await eventually(() => tree.output().includes('was replaced by version'), IN_TIME_MS)
    const third = await launch({}, { dataDir: tree.dataDir, before: ['unshare', '-pf', '--mount-proc'] })
    expect(await third.exited).toBe(1)
    expect((await tree.ask('API')).role).toBe('api')
  },
)

test('a port in use is named with its setting, its holder and a way out', async () => {
  const blocker: Server = createServer().listen(0, '127.0.0.1')
  await once(blocker, 'listening')
  cleanUps.push(() => void blocker.close())
  const { port } = blocker.address() as { port: number }
  const [api, internal, http] = (await freePorts(3)) as [number, number, number]
  const tree = await launch({}, { ports: [api, internal, http, port] })
  expect(await tree.exited).toBe(1)
  const way = `NAMESAKE_HTTPS_ADDR: port ${port} of 127.0.0.1 is in use by node`
  expect(tree.output()).toContain(way)
  expect(tree.output()).toMatch(new RegExp(`\\(process ${process.pid}\\)\\. Stop it, or set NAMESAKE_HTTPS_ADDR=127\\.0\\.0\\.1:\\d+`))
})

test('a setup that says why it failed ends the start with its words, and leaves nothing running', async () => {
  const tree = await launch({ FIXTURE_SETUP_FAILS: 'NAMESAKE_SECRET is not the one of this database' })
  expect(await tree.exited).toBe(1)
  expect(tree.output()).toMatch(/^failed: NAMESAKE_SECRET is not the one of this database$/m)
  expect(listProcesses().filter((pid) => commandLine(pid).includes(tree.dataDir))).toEqual([])
})

test('while an external database is down the edge serves already, with one line about it, and the internal address says what waits', async () => {
  const [port] = await freePorts(1)
  const secret = 'x'.repeat(32)
  const tree = await launch({ NAMESAKE_DATABASE_URL: `postgres://nobody@127.0.0.1:${port}/none`, NAMESAKE_SECRET: secret })
  await eventually(async () => (await tree.ask('HTTPS')).role === 'edge', IN_TIME_MS)
  await eventually(() => tree.output().includes('the database cannot be reached'))
  const reports = (await tree.ask('INTERNAL', '/gather')) as unknown as { role: string; ready: boolean; details: object }[]
  expect(reports.filter(({ role }) => role === 'edge')).toHaveLength(2)
  expect(reports).toContainEqual(expect.objectContaining({ role: 'api', ready: false, details: { state: 'not started yet' } }))
  tree.process.kill('SIGTERM')
  expect(await tree.exited).toBe(0)
  expect(tree.output().split('the database cannot be reached')).toHaveLength(2)
})

test('without a copy, or without edges to serve from it, an embedded database that cannot be started ends the start', async () => {
  const tree = await start()
  tree.process.kill('SIGTERM')
  await tree.exited
  writeFileSync(join(tree.dataDir, 'postgres', 'PG_VERSION'), '9\n')
  const bare = await launch({}, { dataDir: tree.dataDir })
  expect(await bare.exited).toBe(1)
  expect(bare.output()).toMatch(/^failed: .* was made by PostgreSQL 9/m)
  putCopy(tree.dataDir)
  const edgeless = await launch({ FIXTURE_ROLES: 'api,worker' }, { dataDir: tree.dataDir })
  expect(await edgeless.exited).toBe(1)
  expect(listProcesses().filter((pid) => commandLine(pid).includes(tree.dataDir))).toEqual([])
})

test('SIGTERM at any moment of a start from the copy leaves nothing running', async () => {
  const dataDir = makeDataDir()
  const first = await start({}, { dataDir })
  first.process.kill('SIGTERM')
  await first.exited
  putCopy(dataDir)
  for (const afterMs of [300, 450, 600, 750, 900, 1_200]) {
    const tree = await launch({}, { dataDir })
    const seen = new Set<number>()
    const until = performance.now() + afterMs
    await eventually(() => {
      for (const pid of childrenOf(tree.process.pid!)) seen.add(pid)
      return performance.now() > until
    })
    tree.process.kill('SIGTERM')
    await tree.exited
    expect([...seen].filter(isRunning)).toEqual([])
    expect(listProcesses().filter((pid) => commandLine(pid).includes(dataDir))).toEqual([])
  }
})

test('a second Ctrl-C does not wait for a child that will not end', async () => {
  const tree = await start({ FIXTURE_STUBBORN: 'worker' })
  tree.process.kill('SIGINT')
  tree.process.kill('SIGINT') // npm passes the first on: this is the same key press
  await eventually(() => tree.output().includes('stopping'))
  await new Promise((resolve) => setTimeout(resolve, 600))
  expect(isRunning(tree.process.pid!)).toBe(true)
  tree.process.kill('SIGINT')
  expect(await tree.exited).toBe(130)
})

test('a process is told from a later one with the same number', () => {
  const me = identify(process.pid)!
  expect(isStill(me)).toBe(true)
  expect(isStill({ ...me, startedAt: `${me.startedAt}0` })).toBe(false)
})

test.runIf(process.getuid!() === 0)(
  'the real roles serve, as an unprivileged user, from a project that lies where only root can enter',
  async () => {
    const closed = mkdtempSync(join(tmpdir(), 'namesake-root-only-')) // 0700
    cleanUps.push(() => rmSync(closed, { recursive: true, force: true }))
    const project = fileURLToPath(new URL('../', import.meta.url))
    const parts = ['bin', 'src', 'sql', 'sdk', 'examples', 'portal', 'package.json', 'node_modules'].filter((name) =>
      existsSync(join(project, name)),
    )
    execFileSync('cp', ['-al', ...parts, closed], { cwd: project })
    const ports = await freePorts(4)
    const addresses = Object.fromEntries(NAMES.map((name, i) => [`NAMESAKE_${name}_ADDR`, `127.0.0.1:${ports[i]}`]))

    for (const [round, runtime] of [
      ['first', 'node'],
      ['second', 'bun'],
    ]) {
      const env = { PATH: process.env.PATH!, NAMESAKE_EDGE_WORKERS: '1', NAMESAKE_EDGE_RUNTIME: runtime, ...addresses }
      const child = spawn(join(closed, 'bin/namesake'), ['start', '--json'], { cwd: closed, env, stdio: ['ignore', 'pipe', 'pipe'] })
      let output = ''
      for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => (output += chunk))
      const exited = once(child, 'exit')
      try {
        const ready = async () => (await fetch(`http://127.0.0.1:${ports[1]}/ready`)).status === 200
        await eventually(ready, IN_TIME_MS).catch((cause: unknown) =>
          Promise.reject(new Error(`not ready at the ${round} start: ${output}`, { cause })),
        )
        const children = childrenOf(child.pid!)
        expect(children.length).toBeGreaterThanOrEqual(5)
        expect(children.filter((pid) => statSync(`/proc/${pid}`).uid === 0)).toEqual([])
      } finally {
        child.kill('SIGTERM')
        await exited
      }
      expect(output).not.toMatch(/EACCES|"level":"(warn|error|fatal)"/)
      const moved = realpathSync(join(closed, '.namesake'))
      expect(moved).toMatch(/^\/var\/lib\/namesake\//)
      if (round === 'second') rmSync(moved, { recursive: true })
    }
  },
)

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
