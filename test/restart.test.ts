import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isRunning, signal } from '../src/processes.ts'
import { createTestDatabase } from './support/postgres.ts'
import { administer } from './support/postgres-server.ts'
import { addVendor, eventually, localRoot, processesOf, startTree, type Tree } from './support/tree.ts'
import { startUpstream } from './support/upstream.ts'
import { handshake, knock, visit } from './support/visitor.ts'

const SHOP = 'shop.localhost'
const NOBODYS = 'nobodys.localhost'
const SECRET = 'a secret of the restart of 32 bytes or more'
const NOWHERE = 'postgres://namesake@127.0.0.1:1/namesake'

const certificateCheck = async (tree: Tree, domain: string) =>
  (await fetch(`${tree.internalUrl}/internal/certificate-check?domain=${domain}`)).status

/** A tree that serves the shop of a vendor, whose certificate is of `root`. */
async function startServing(parts: Parameters<typeof startTree>[0], upstreamUrl: string) {
  const first = await startTree(parts)
  const vendor = await addVendor(first, 'shop', upstreamUrl)
  await vendor.claim(SHOP)
  const root = localRoot(first)
  await eventually(async () => (await visit({ port: first.httpsPort, hostname: SHOP, ca: root })).status === 200, 60_000)
  return { first, vendor, root }
}

test('everything of a tree is gone after its stop, and without a database the edge then starts again from its local copy', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'namesake-restart-'))
  const database = await createTestDatabase()
  const upstream = await startUpstream()
  const env = { NAMESAKE_DATABASE_URL: database.url, NAMESAKE_SECRET: SECRET }
  const { first, root } = await startServing({ dataDir, env }, upstream.url)
  const pids = first.pids()
  expect(pids.length).toBeGreaterThanOrEqual(6) // supervisor, follower, api, worker, two edge processes
  expect(await first.stop()).toBe(0)
  expect(pids.filter(isRunning)).toEqual([])
  for (const port of [first.httpPort, first.httpsPort, Number(new URL(first.apiUrl).port), Number(new URL(first.internalUrl).port)]) {
    await expect(knock(port, Buffer.from('?'))).rejects.toThrow('ECONNREFUSED')
  }

  const second = await startTree({ dataDir, env: { ...env, NAMESAKE_DATABASE_URL: NOWHERE }, args: ['--roles', 'edge'] })
  try {
    expect((await visit({ port: second.httpsPort, hostname: SHOP, ca: root })).status).toBe(200)
    await expect(handshake({ port: second.httpsPort, hostname: NOBODYS, ca: root })).rejects.toThrow(/handshake failure/)
    expect([await certificateCheck(second, SHOP), await certificateCheck(second, NOBODYS)]).toEqual([200, 404])
    const again = second.pids()
    expect(await second.stop()).toBe(0)
    expect(again.filter(isRunning)).toEqual([])
  } finally {
    await second.stop()
    await database.drop()
    await upstream.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
})

test('with an embedded database that cannot be started the edge serves its copy, and the API comes as soon as that is mended', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'namesake-restart-'))
  const upstream = await startUpstream()
  const { first, vendor, root } = await startServing({ dataDir }, upstream.url)
  expect(await first.stop()).toBe(0)

  chmodSync(join(dataDir, 'postgres'), 0o755) // PostgreSQL refuses files that others may read
  const second = await startTree({ dataDir, awaitReady: false })
  const serves = async () => (await visit({ port: second.httpsPort, hostname: SHOP, ca: root })).status === 200
  try {
    await eventually(serves, 60_000)
    await eventually(() => second.output().includes('the embedded PostgreSQL cannot be started. The edges serve from the local copy'))
    expect(second.output()).toMatch(/invalid permissions.*0700/)
    await eventually(async () => (await processesOf(second, 'edge')).every(({ ready }) => ready), 60_000)
    const waiting = { ready: false, state: 'not started yet' }
    const edge = expect.objectContaining({ role: 'edge', ready: true })
    expect(await processesOf(second)).toEqual([
      expect.objectContaining({ role: 'follower', ready: true, trouble: expect.any(String), asOfMs: expect.any(Number) }),
      ...[edge, edge, expect.objectContaining({ role: 'api', ...waiting }), expect.objectContaining({ role: 'worker', ...waiting })],
    ])
    const ready = async (query: string) => (await fetch(`${second.internalUrl}/ready${query}`)).status
    expect([await ready(''), await ready('?role=edge'), await ready('?role=follower'), await ready('?role=api')]).toEqual([
      503, 200, 200, 503,
    ])
    const [hangs] = await processesOf(second, 'edge')
    signal(hangs!.pid, 'SIGSTOP')
    expect(await ready('?role=edge')).toBe(200) // the other one serves
    signal(hangs!.pid, 'SIGCONT')
    expect(await (await fetch(`${second.internalUrl}/metrics`)).text()).toMatch(
      /namesake_edge_handshakes_total\{outcome="completed"\} [1-9]/,
    )
    const pids = second.pids()
    const stopAt = performance.now()
    expect(await second.stop()).toBe(0)
    expect(performance.now() - stopAt).toBeLessThan(10_000)
    expect(pids.filter(isRunning)).toEqual([])
  } finally {
    await second.stop()
  }

  const third = await startTree({ dataDir, awaitReady: false })
  try {
    await eventually(() => third.output().includes('the embedded PostgreSQL cannot be started'), 60_000)
    chmodSync(join(dataDir, 'postgres'), 0o700)
    await eventually(async () => (await vendor.call('/v1/edge/domains', { at: third })).status === 200, 60_000)
    await eventually(async () => (await fetch(`${third.internalUrl}/ready`)).status === 200, 60_000)
    const pids = third.pids()
    expect(await third.stop()).toBe(0)
    expect(pids.filter(isRunning)).toEqual([])
  } finally {
    await third.stop()
    await upstream.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
})

test('with a database that cannot be set up the edge serves its copy, and the API comes as soon as that is mended', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'namesake-restart-'))
  const database = await createTestDatabase()
  const upstream = await startUpstream()
  const env = { NAMESAKE_DATABASE_URL: database.url, NAMESAKE_SECRET: SECRET }
  const { first, vendor, root } = await startServing({ dataDir, env }, upstream.url)
  expect(await first.stop()).toBe(0)

  await administer(database.url, 'alter table migrations rename to migrations_away') // the first one meets what is there already
  const second = await startTree({ dataDir, env, awaitReady: false })
  try {
    await eventually(() => second.output().includes('the database could not be set up. The edges serve from the local copy'), 60_000)
    expect(second.output()).toMatch(/migration 0001\S+ failed, and nothing of it was kept: .* already exists/)
    const edges = (await processesOf(second, 'edge')).map(({ pid }) => pid)
    expect((await visit({ port: second.httpsPort, hostname: SHOP, ca: root })).status).toBe(200)
    await administer(database.url, 'drop table migrations')
    await administer(database.url, 'alter table migrations_away rename to migrations')
    await eventually(async () => (await vendor.call('/v1/edge/domains', { at: second })).status === 200, 60_000)
    await eventually(async () => (await fetch(`${second.internalUrl}/ready`)).status === 200, 60_000)
    expect((await processesOf(second, 'edge')).map(({ pid }) => pid)).toEqual(edges)
    expect(await second.stop()).toBe(0)
  } finally {
    await second.stop()
    await database.drop()
    await upstream.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
})

test('a local copy that its user may not open is named with the way to open it, and is followed as soon as it is open', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'namesake-restart-'))
  const first = await startTree({ dataDir })
  expect(await first.stop()).toBe(0)
  const lock = join(dataDir, 'copy', 'routes.sqlite.lock')
  chmodSync(lock, 0)
  const second = await startTree({ dataDir, awaitReady: false })
  try {
    const follower = async () => (await processesOf(second, 'follower'))[0]
    await eventually(async () => (await follower())?.ready === false, 60_000)
    await eventually(() => second.output().includes(`the local copy waits, and what changes is not seen: ${lock} cannot be read`), 60_000)
    expect(second.output()).toMatch(new RegExp(`chown -R \\d+:\\d+ ${dataDir}/copy && chmod -R u\\+rwX ${dataDir}/copy`))
    chmodSync(lock, 0o600)
    await eventually(async () => (await fetch(`${second.internalUrl}/ready`)).status === 200, 60_000)
    expect(second.output()).not.toContain('follower ended')
    expect(second.output().split('the local copy waits')).toHaveLength(2)
  } finally {
    await second.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
})

test('a process that crashes has the `.env` of the start or of the last reload, whatever is being edited in it, and shows none of it', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'namesake-edited-'))
  const mailPassword = 'the-password-of-the-mail-server'
  const write = (publicPort: number, more = '') =>
    writeFileSync(
      join(cwd, '.env'),
      `NAMESAKE_PUBLIC_HTTPS_PORT=${publicPort}\nNAMESAKE_SMTP_URL=smtp://ada:${mailPassword}@127.0.0.1:9\nNAMESAKE_MAIL_FROM=ada@vendor.test\n${more}`,
    )
  write(9_001)
  const tree = await startTree({ cwd })
  try {
    const vendor = await addVendor(tree, 'shop', 'http://127.0.0.1:9')
    await vendor.claim(SHOP)
    const asked = Buffer.from(`GET / HTTP/1.1\r\nHost: ${SHOP}\r\nConnection: close\r\n\r\n`)
    const leadsTo = async () =>
      Number(/^location: https:[^\r]*:(\d+)\//im.exec((await knock(tree.httpPort, asked)).toString('latin1'))?.[1])
    const pidsNow = async () => (await processesOf(tree)).map(({ pid }) => pid).sort() // without those of PostgreSQL, which come and go
    const crash = async () => {
      const former = new Set(await pidsNow())
      for (const pid of former) process.kill(pid, 'SIGKILL')
      await eventually(async () => {
        const present = await processesOf(tree)
        return present.length === former.size && present.every(({ pid, ready }) => ready && !former.has(pid))
      }, 60_000)
    }
    await eventually(async () => (await leadsTo()) === 9_001)

    write(9_002, 'NAMESAKE_PLANS=free\n')
    await crash()
    expect(await leadsTo()).toBe(9_001)
    const before = await pidsNow()
    tree.process.kill('SIGHUP')
    await eventually(() => tree.output().includes('reload: nothing was replaced: One setting cannot be used:'))
    expect(await pidsNow()).toEqual(before)

    write(9_002)
    expect(await tree.command('reload')).toMatchObject({ state: 'done' })
    expect(await leadsTo()).toBe(9_002)
    write(9_003)
    await crash()
    expect(await leadsTo()).toBe(9_002)
    for (const pid of await pidsNow()) expect(readFileSync(`/proc/${pid}/environ`, 'latin1')).not.toContain(mailPassword)
  } finally {
    await tree.stop()
    rmSync(cwd, { recursive: true, force: true })
  }
})
