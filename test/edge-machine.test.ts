import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { signal } from '../src/processes.ts'
import { drawLine, type Line } from './support/cut-line.ts'
import { createEmptyDatabase, type TestDatabase } from './support/postgres.ts'
import { addVendor, eventually, localRoot, processesOf, startTree, type Tree, untilReady, type Vendor } from './support/tree.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { handshake, visit } from './support/visitor.ts'

const SECRET = 'a secret of the edge machine of 32 bytes or more'
const login = `edge_${randomBytes(6).toString('hex')}`
const asEdge = ({ url }: { url: string }) => url.replace('postgres://postgres@', `postgres://${login}@`)

let database: TestDatabase
let line: Line
let upstream: Upstream
let edge: Tree
let control: Tree
let vendor: Vendor
let root: string

beforeAll(async () => {
  database = await createEmptyDatabase()
  line = await drawLine(database.url)
  upstream = await startUpstream()
  await database.db.pool.query(`create role ${login} login`)
  // The machine comes up first and meets an empty database, and a login that may do nothing in it.
  edge = await startTree({
    awaitReady: false,
    args: ['--roles', 'edge'],
    env: { NAMESAKE_DATABASE_URL: asEdge(line), NAMESAKE_SECRET: SECRET },
  })
  await eventually(() => edge.output().includes('waiting for a machine with api or worker'), 60_000)
  control = await startTree({ args: ['--roles', 'api,worker'], env: { NAMESAKE_DATABASE_URL: database.url, NAMESAKE_SECRET: SECRET } })
  root = localRoot(control)
  vendor = await addVendor(control, 'shop', upstream.url)
})

afterAll(async () => {
  await Promise.all([edge?.stop(), control?.stop()])
  await upstream.stop()
  await line.cut()
  await database.drop()
})

const visitAt = async (tree: Tree, hostname: string) => (await visit({ port: tree.httpsPort, hostname, ca: root })).status

test('an edge machine says which grant its login lacks, and comes up by itself once it has it', async () => {
  await eventually(() => edge.output().includes('grant namesake_edge to it'), 60_000)
  await database.db.pool.query(`grant namesake_edge to ${login}`)
  await untilReady(edge)
})

test('with that login it serves what others claim, and has a certificate ordered for its first visitor', async () => {
  await vendor.claim('shop.localhost')
  await eventually(async () => (await visitAt(edge, 'shop.localhost')) === 200, 60_000)
  await expect(handshake({ port: edge.httpsPort, hostname: 'nobodys.localhost', ca: root })).rejects.toThrow(/handshake failure/)
  expect(edge.output()).not.toContain('permission denied')
})

test('it starts again with its part of the secret alone, and goes on serving and following', async () => {
  const { statements, secret } = await control.command<{ statements: string[]; secret: string }>('edge-access')
  expect(statements).toEqual([expect.stringContaining('in role namesake_edge')])
  expect(secret).not.toContain(SECRET)
  await edge.stop()
  edge = await startTree({ args: ['--roles', 'edge'], env: { NAMESAKE_DATABASE_URL: asEdge(line), NAMESAKE_SECRET: secret } })
  expect(await visitAt(edge, 'shop.localhost')).toBe(200)
  await vendor.claim('second.localhost')
  await eventually(async () => (await visitAt(edge, 'second.localhost')) === 200, 60_000)
  expect(edge.output()).not.toContain('permission denied')
})

test('a command that this login may not run says where to run it', async () => {
  await expect(edge.command('projects', 'list')).rejects.toThrow(
    /the login in NAMESAKE_DATABASE_URL may not do this.*run the command on a machine with api or worker/,
  )
  const states = async () => (await edge.command<{ state: string }[]>('edges', 'list')).map(({ state }) => state)
  await eventually(async () => (await states()).includes('fresh'), 60_000) // it may serve before its first heartbeat
})

test('a part of the secret starts neither an api nor a worker, and another secret no edge', async () => {
  const { secret } = await control.command<{ secret: string }>('edge-access')
  const refused = async (args: string[], url: string, NAMESAKE_SECRET: string): Promise<string> => {
    const tree = await startTree({ awaitReady: false, args, env: { NAMESAKE_DATABASE_URL: url, NAMESAKE_SECRET } })
    await eventually(() => tree.process.exitCode !== null, 60_000)
    await tree.stop()
    return tree.output()
  }
  expect(await refused(['--roles', 'worker'], database.url, secret)).toContain('api and worker need the whole one')
  const other = 'another secret of 32 bytes or more and not theirs'
  expect(await refused(['--roles', 'edge'], asEdge(database), other)).toContain('is not the secret that this database was set up with')
})

test('while the database is away the release on disk takes over from its local copy, and follows once it is back', async () => {
  const former = new Set((await processesOf(edge)).map(({ pid }) => pid))
  await line.cut()
  expect(await edge.command('upgrade')).toMatchObject({ state: 'done' })
  expect(await visitAt(edge, 'shop.localhost')).toBe(200)
  expect((await processesOf(edge)).filter(({ pid }) => former.has(pid))).toEqual([])
  await line.mend()
  await vendor.claim('third.localhost')
  await eventually(async () => (await visitAt(edge, 'third.localhost')) === 200, 60_000)
})

test('a follower that is started again behind an upgrade answers on the internal address, as the one before did', async () => {
  const [before] = await processesOf(edge, 'follower')
  signal(before!.pid, 'SIGKILL')
  await eventually(async () => (await processesOf(edge, 'follower')).some(({ pid, ready }) => ready && pid !== before!.pid), 60_000)
})

test('a release that is to take over with another database waits for it, since its settings may be wrong', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'namesake-settings-'))
  const write = (url: string) => writeFileSync(join(folder, '.env'), `NAMESAKE_DATABASE_URL=${url}\n`)
  write(asEdge(database))
  const { secret } = await control.command<{ secret: string }>('edge-access')
  const other = await startTree({ cwd: folder, args: ['--roles', 'edge'], env: { NAMESAKE_SECRET: secret } })
  write(`${asEdge(database)}_mistyped`)
  const upgrade = other.command('upgrade').catch(() => {}) // it goes on until we stop
  onTestFinished(async () => {
    await other.stop()
    await upgrade
    rmSync(folder, { recursive: true })
  })
  await eventually(() => /_mistyped.*trying each second/.test(other.output()), 60_000)
  expect(await visitAt(other, 'shop.localhost')).toBe(200)
})
