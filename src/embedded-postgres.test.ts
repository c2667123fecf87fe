import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { eventually } from '../test/support/tree.ts'
import { findPostgresPackage } from './postgres-binaries.ts'
import { isRunning } from './processes.ts'

const FIXTURE = fileURLToPath(new URL('../test/support/embedded-postgres.fixture.ts', import.meta.url))
const ORDINARY = 65_534
const isRoot = process.getuid!() === 0

type Started = { url: string; origin: string; pid: number; dataDir: string; process: ChildProcess }
type Options = { ordinary?: boolean; folder?: string; version?: string }

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function start(dataDir: string, { ordinary = false, folder, version }: Options = {}): Promise<Started> {
  const ids = ordinary && isRoot ? { uid: ORDINARY, gid: ORDINARY } : {}
  const child = spawn(process.execPath, [FIXTURE, dataDir, ...(folder ? [folder, version!] : [])], {
    ...ids,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr!.on('data', (chunk) => (errors += chunk))
  const exited = once(child, 'exit').then(() => Promise.reject(new Error(`ended early: ${errors}`)))
  exited.catch(() => {})
  const [line] = (await Promise.race([once(createInterface(child.stdout!), 'line'), exited])) as [string]
  const started: Started = { ...(JSON.parse(line) as Omit<Started, 'process'>), process: child }
  cleanUps.push(() => stop(started))
  return started
}

async function stop({ process: child }: Started): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

function makeDataDir(ordinary = false): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'namesake-pg-'))
  if (ordinary && isRoot) chownSync(dataDir, ORDINARY, ORDINARY)
  cleanUps.push(() => rmSync(dataDir, { recursive: true, force: true }))
  return dataDir
}

async function query<R extends pg.QueryResultRow>(url: string, text: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<R>(text)).rows
  } finally {
    await client.end()
  }
}

const ownerOf = (pid: number) => statSync(`/proc/${pid}`).uid

test.each([
  ['as the user who starts it', false],
  ['as an ordinary user', true],
])('a database comes up %s, listens on no network, and is gone after the stop', async (_, ordinary) => {
  const server = await start(makeDataDir(ordinary), { ordinary })
  const [row] = await query(
    server.url,
    `select datname, pg_encoding_to_char(encoding) as encoding, datlocale as locale from pg_database where datname = 'namesake'`,
  )
  expect(row).toEqual({ datname: 'namesake', encoding: 'UTF8', locale: 'C.UTF-8' })
  const settings = await query<{ name: string; setting: string }>(
    server.url,
    `select name, setting from pg_settings where name in ('listen_addresses', 'fsync', 'data_checksums', 'max_connections', 'synchronous_commit') order by name`,
  )
  expect(settings.map(({ name, setting }) => `${name}=${setting}`)).toEqual([
    'data_checksums=on',
    'fsync=on',
    'listen_addresses=',
    'max_connections=200',
    'synchronous_commit=on',
  ])
  if (isRoot) expect(ownerOf(server.pid)).not.toBe(0)
  expect(statSync(join(server.dataDir, 'run')).mode & 0o777).toBe(0o700)
  await stop(server)
  expect(isRunning(server.pid)).toBe(false)
})

test('a server that outlived its supervisor is adopted, with everything in it', async () => {
  const dataDir = makeDataDir()
  const first = await start(dataDir)
  await query(first.url, 'create table kept as select 1 as n')
  await kill(first.process)
  expect(isRunning(first.pid)).toBe(true)
  const second = await start(dataDir)
  expect(second).toMatchObject({ origin: 'adopted', pid: first.pid, url: first.url })
  expect(await query(second.url, 'select n from kept')).toEqual([{ n: 1 }])
  await stop(second)
  expect(isRunning(first.pid)).toBe(false)
})

test('after kill -9 of server and supervisor, with connections open, what was committed is there', async () => {
  const dataDir = makeDataDir()
  const first = await start(dataDir)
  await query(first.url, 'create table kept (n int)')
  const client = new pg.Client({ connectionString: first.url })
  client.on('error', () => {})
  await client.connect()
  await client.query('insert into kept values (1)')
  const interrupted = client.query('insert into kept select 2 from pg_sleep(20)').catch(() => {})
  process.kill(first.pid, 'SIGKILL')
  await kill(first.process)
  const second = await start(dataDir)
  expect(second.origin).toBe('started')
  expect(await query(second.url, 'select n from kept')).toEqual([{ n: 1 }])
  await interrupted
})

test.each(['with', 'without'])('a server that dies while its supervisor lives is started again, %s its log', async (how) => {
  const server = await start(makeDataDir())
  if (how === 'without') rmSync(join(server.dataDir, 'postgres.log'))
  process.kill(server.pid, 'SIGKILL')
  await eventually(async () => (await query<{ n: number }>(server.url, 'select 1 as n'))[0]?.n === 1)
  const pidFile = join(server.dataDir, 'postgres', 'postmaster.pid')
  expect(Number.parseInt(readFileSync(pidFile, 'utf8'), 10)).not.toBe(server.pid)
})

test('the process id of a dead server in other hands does not stand in the way', async () => {
  const dataDir = makeDataDir()
  const first = await start(dataDir)
  process.kill(first.pid, 'SIGSTOP') // neither may tidy up after the other
  await kill(first.process)
  process.kill(first.pid, 'SIGKILL')
  await eventually(() => !isRunning(first.pid))
  const bystander = spawn('sleep', ['60'], isRoot ? { uid: ORDINARY, gid: ORDINARY } : {})
  cleanUps.push(() => bystander.kill())
  for (const file of ['postgres/postmaster.pid', 'run/.s.PGSQL.5432.lock']) {
    const path = join(dataDir, file)
    writeFileSync(path, readFileSync(path, 'utf8').replace(String(first.pid), String(bystander.pid)))
  }
  const second = await start(dataDir)
  expect(second.origin).toBe('started')
  expect(bystander.exitCode).toBe(null)
})

test.runIf(isRoot)(
  'while a database cannot be started again, neither a program in its folder nor who has its number by then is told to end',
  async () => {
    const server = await start(makeDataDir())
    chmodSync(join(server.dataDir, 'postgres'), 0o755) // PostgreSQL refuses files that others may read
    process.kill(server.pid, 'SIGKILL')
    const begin = (cwd: string) => {
      const bystander = spawn('sleep', ['600'], { cwd, stdio: 'ignore' })
      cleanUps.push(() => bystander.kill())
      return bystander
    }
    const inTheFolder = begin(join(server.dataDir, 'postgres'))
    const refusals = () => readFileSync(join(server.dataDir, 'postgres.log'), 'utf8').split('invalid permissions').length - 1
    await eventually(() => refusals() >= 3) // from the second on, what is left of the server is ended
    expect(inTheFolder.signalCode).toBe(null)
    const itsHeir = () => {
      writeFileSync('/proc/sys/kernel/ns_last_pid', String(server.pid - 1))
      const other = begin('/')
      if (other.pid !== server.pid) other.kill('SIGKILL') // somebody else was faster
      return other
    }
    let heir = itsHeir()
    const isIt = () => {
      if (heir.pid !== server.pid) heir = itsHeir()
      return heir.pid === server.pid
    }
    await eventually(isIt, 60_000, 1)
    await stop(server)
    expect([inTheFolder.signalCode, heir.signalCode]).toEqual([null, null])
  },
)

test('a first start that was killed while it made the database is made again', async () => {
  const dataDir = makeDataDir()
  const child = spawn(process.execPath, [FIXTURE, dataDir], { stdio: 'ignore' })
  const half = () =>
    readdirSync(dataDir).filter((name) => name.startsWith('postgres-half-') && existsSync(join(dataDir, name, 'PG_VERSION')))
  await eventually(() => half().length > 0, 60_000, 2)
  await kill(child)
  const server = await start(dataDir)
  expect(await query(server.url, 'select 1 as n')).toEqual([{ n: 1 }])
  expect(half()).toEqual([])
})

test('a data folder with a path too long for a socket works', async () => {
  const parent = makeDataDir()
  chmodSync(parent, 0o755)
  const dataDir = join(parent, 'long'.repeat(25))
  const server = await start(dataDir)
  expect(await query(server.url, 'select 1 as n')).toEqual([{ n: 1 }])
  expect(decodeURIComponent(server.url)).toMatch(/host=\/tmp\/namesake-[0-9a-f]{12}$/)
  await stop(server)
  rmSync(decodeURIComponent(server.url.split('host=')[1]!), { recursive: true })
})

test.runIf(isRoot)('root can start it where only root can enter: the data moves to where the service user can reach it', async () => {
  const closed = mkdtempSync(join(tmpdir(), 'namesake-root-only-'))
  chmodSync(closed, 0o700)
  cleanUps.push(() => rmSync(closed, { recursive: true, force: true }))
  const { folder, version } = findPostgresPackage()
  execFileSync('cp', ['-al', folder, join(closed, 'native')])
  const links = JSON.parse(readFileSync(join(folder, 'pg-symlinks.json'), 'utf8')) as { target: string }[]
  for (const { target } of links) rmSync(join(closed, target)) // as when npm ran no install script

  const configured = join(closed, '.namesake')
  const server = await start(configured, { folder: join(closed, 'native'), version })
  cleanUps.push(() => rmSync(server.dataDir, { recursive: true, force: true }))
  expect(server.dataDir).toMatch(/^\/var\/lib\/namesake\/[0-9a-f]{12}$/)
  expect(lstatSync(configured).isSymbolicLink()).toBe(true)
  expect(existsSync(join(configured, 'postgres'))).toBe(true)
  expect(ownerOf(server.pid)).not.toBe(0)
  expect(await query(server.url, 'select 1 as n')).toEqual([{ n: 1 }])
  await kill(server.process)
  const again = await start(configured, { folder: join(closed, 'native'), version })
  expect(again).toMatchObject({ origin: 'adopted', pid: server.pid })

  // Another release's binaries do not take those away that the server runs from.
  await kill(again.process)
  const copies = () => readdirSync(server.dataDir).filter((name) => name.startsWith('postgres-binaries-'))
  const next = await start(configured, { folder: join(closed, 'native'), version: '18.98.0' })
  expect(next).toMatchObject({ origin: 'adopted', pid: server.pid })
  expect(copies().sort()).toEqual([`postgres-binaries-${version}`, 'postgres-binaries-18.98.0'].sort())
  expect(await query(server.url, `select 'x' ~ 'X' as is_same, to_tsvector('english', 'wishes') as words`)).toHaveLength(1)
  await stop(next)
  await start(configured, { folder: join(closed, 'native'), version: '18.99.0' })
  expect(copies()).toEqual(['postgres-binaries-18.99.0'])
})

test.runIf(isRoot)('a folder that root has put into the data of an ordinary user is named, with the way to give it back', async () => {
  const dataDir = makeDataDir(true)
  mkdirSync(join(dataDir, 'copy'))
  await expect(start(dataDir, { ordinary: true })).rejects.toThrow(`chown -R ${ORDINARY}:${ORDINARY} ${dataDir}/copy`)
})

test.runIf(isRoot)('files that root has restored are named, with the way to give them back', async () => {
  const dataDir = makeDataDir()
  await stop(await start(dataDir))
  const folder = join(dataDir, 'postgres')
  const { uid, gid } = statSync(folder)
  chownSync(folder, 0, 0)
  await expect(start(dataDir)).rejects.toThrow(`chown -R ${uid}:${gid} ${folder}`)
})

test('an empty folder in the place of the database, as of a volume for it alone, is named with the way out', async () => {
  const dataDir = makeDataDir()
  await stop(await start(dataDir))
  rmSync(join(dataDir, 'postgres'), { recursive: true })
  mkdirSync(join(dataDir, 'postgres'))
  await expect(start(dataDir)).rejects.toThrow(`${dataDir}/postgres holds no database`)
})

test.runIf(isRoot)('a folder with other files is never taken over', async () => {
  const dataDir = makeDataDir()
  writeFileSync(join(dataDir, 'letters.txt'), 'mine')
  await expect(start(dataDir)).rejects.toThrow(/holds other files/)
  expect(statSync(dataDir).uid).toBe(0)
})

test.runIf(isRoot)("on a volume whose root is root's and open to its group, an ordinary user has its data in a folder below", async () => {
  const volume = makeDataDir()
  chownSync(volume, 0, ORDINARY)
  chmodSync(volume, 0o2775)
  const server = await start(join(volume, 'data'), { ordinary: true })
  expect(await query(server.url, 'select 1 as n')).toEqual([{ n: 1 }])
  await stop(server)
  await start(join(volume, 'data'), { ordinary: true })
})

test.runIf(isRoot)('a new volume, which holds lost+found, can be the data directory', async () => {
  const dataDir = makeDataDir(true)
  mkdirSync(join(dataDir, 'lost+found'), { mode: 0o700 })
  await start(dataDir, { ordinary: true })
})
