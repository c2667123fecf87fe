import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { startMailServer } from '../../test/support/mail.ts'
import { freePort, freePorts } from '../../test/support/ports.ts'
import { startTree } from '../../test/support/tree.ts'
import { readConfig } from '../config.ts'
import { type Check, checkIpv6, checkMail } from './installation-checks.ts'

const LAUNCHER = fileURLToPath(new URL('../../bin/namesake', import.meta.url))
const NOBODY = 65_534

const portsIn = (checks: Check[]) => checks.filter(({ name }) => name === 'ports')

test.skipIf(process.getuid!() !== 0)(
  'doctor doubts a port that an ordinary user may not bind, since systemd may hand it over',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'namesake-doctor-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const env = { PATH: process.env.PATH!, NAMESAKE_DATA_DIR: join(folder, 'data'), NAMESAKE_HTTP_ADDR: '127.0.0.1:81' }
    const checks = await new Promise<Check[]>((resolve) => {
      execFile(LAUNCHER, ['doctor', '--json'], { env, cwd: '/', uid: NOBODY, gid: NOBODY }, (_, out) => resolve(JSON.parse(out)))
    })
    expect(portsIn(checks).find(({ sentence }) => sentence.includes(':81 '))).toEqual({
      name: 'ports',
      state: 'doubtful',
      sentence: expect.stringMatching(
        /^127\.0\.0\.1:81 \(NAMESAKE_HTTP_ADDR\) may be bound by root only: fine where systemd hands it over/,
      ),
    })
  },
)

test('doctor looks whether the mail server that is set answers', async () => {
  const inbox = await startMailServer()
  onTestFinished(() => inbox.stop())
  const { config } = readConfig({ NAMESAKE_SMTP_URL: inbox.smtpUrl, NAMESAKE_MAIL_FROM: 'namesake@example.com' }, tmpdir())
  const place = new URL(inbox.smtpUrl).host
  expect(await checkMail(config)).toEqual([{ name: 'mail', state: 'good', sentence: `${place} answers` }])
  expect(await checkMail({ ...config, smtpUrl: `smtp://namesake:hunter2@127.0.0.1:${await freePort()}` })).toEqual([
    {
      name: 'mail',
      state: 'bad',
      sentence: expect.stringMatching(
        /^127\.0\.0\.1:\d+ cannot be used: nothing there accepts connections \(ECONNREFUSED\)\. Look at NAMESAKE_SMTP_URL/,
      ),
    },
  ])
  expect(await checkMail({ ...config, smtpUrl: undefined })).toEqual([])
})

test('doctor looks at the ports of those roles alone that run here, whoever holds the others', async () => {
  const tree = await startTree({ args: ['--roles', 'api,worker'] })
  onTestFinished(async () => void (await tree.stop()))
  const other = createServer().listen(tree.httpPort, '127.0.0.1')
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const ports = portsIn(await tree.command<Check[]>('doctor'))
  expect(ports.map(({ state, sentence }) => [state, /\((\w+)\)/.exec(sentence)?.[1]])).toEqual([
    ['good', 'NAMESAKE_API_ADDR'],
    ['good', 'NAMESAKE_INTERNAL_ADDR'],
  ])
})

test('a start and doctor say which source address for upstreams this machine does not have', async () => {
  const tree = await startTree({ args: ['--roles', 'api,edge'], env: { NAMESAKE_UPSTREAM_SOURCE_IPS: '127.0.0.1,192.0.2.1' } })
  onTestFinished(async () => void (await tree.stop()))
  const sentence = 'NAMESAKE_UPSTREAM_SOURCE_IPS: this machine has no address 192.0.2.1'
  expect(tree.output()).toContain(sentence)
  const failed = await tree.command('doctor').catch((error: { code: number; stdout: string }) => error)
  expect(failed).toMatchObject({ code: 1 })
  expect(JSON.parse((failed as { stdout: string }).stdout)).toContainEqual({
    name: 'upstreams',
    state: 'bad',
    sentence: expect.stringContaining(sentence),
  })
})

test('without an edge a source address that this machine does not have is a doubt', async () => {
  const tree = await startTree({ args: ['--roles', 'api'], env: { NAMESAKE_UPSTREAM_SOURCE_IPS: '192.0.2.1' } })
  onTestFinished(async () => void (await tree.stop()))
  const sentence = expect.stringMatching(/this machine has no address 192\.0\.2\.1, and of an application that is tried from it/)
  expect(tree.output()).toEqual(sentence)
  expect(await tree.command('doctor')).toContainEqual({ name: 'upstreams', state: 'doubtful', sentence })
})

test('doctor doubts a free port of the settings while the service listens on another', async () => {
  const tree = await startTree({ args: ['--roles', 'api'] })
  onTestFinished(async () => void (await tree.stop()))
  const [free] = await freePorts(1)
  const env = { ...tree.env, PATH: process.env.PATH!, NAMESAKE_API_ADDR: `127.0.0.1:${free}` }
  const { stdout } = await promisify(execFile)(LAUNCHER, ['doctor', '--json'], { env })
  expect(portsIn(JSON.parse(stdout))).toEqual([
    {
      name: 'ports',
      state: 'doubtful',
      sentence: `127.0.0.1:${free} (NAMESAKE_API_ADDR) is free, and what runs here (process ${tree.process.pid}) listens elsewhere: a restart takes it there`,
    },
    expect.objectContaining({ state: 'good' }),
  ])
})

test('a start and doctor say of a public installation without a mail server that nobody can sign in', async () => {
  const tree = await startTree({
    args: ['--roles', 'api'],
    env: { NAMESAKE_EDGE_HOST: 'edge.example.com', NAMESAKE_DNS_SERVERS: '127.0.0.1:9' },
  })
  onTestFinished(async () => void (await tree.stop()))
  expect(tree.output()).toContain('NAMESAKE_SMTP_URL is not set: nobody can sign in')
  expect(await tree.command('doctor')).toContainEqual({
    name: 'mail',
    state: 'doubtful',
    sentence: expect.stringMatching(/^NAMESAKE_SMTP_URL is not set: nobody can sign in/),
  })
})

test('doctor doubts listening addresses that take no IPv6 where the edge has such an address', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'namesake-doctor-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [http, https] = (await freePorts(2)) as [number, number]
  const settings = {
    NAMESAKE_DATA_DIR: join(folder, 'data'),
    NAMESAKE_EDGE_HOST: 'edge.example.com',
    NAMESAKE_EDGE_IPS: '203.0.113.10,2001:db8::10',
    NAMESAKE_HTTP_ADDR: `0.0.0.0:${http}`,
    NAMESAKE_HTTPS_ADDR: `0.0.0.0:${https}`,
  }
  const doubted = (more: Record<string, string> = {}) =>
    checkIpv6(readConfig({ ...settings, ...more }, folder).config).map(({ state, sentence }) => [state, /\((\w+)\)/.exec(sentence)![1]])
  const both = [
    ['doubtful', 'NAMESAKE_HTTP_ADDR'],
    ['doubtful', 'NAMESAKE_HTTPS_ADDR'],
  ]
  expect(doubted()).toEqual(both)
  expect(doubted({ NAMESAKE_DNS_ZONE: 'acme.example.com' })).toEqual([...both, ['doubtful', 'NAMESAKE_DNS_ADDR']])
  expect(doubted({ NAMESAKE_HTTP_ADDR: `[::]:${http}` })).toEqual(both.slice(1))
  expect(doubted({ NAMESAKE_EDGE_IPS: '203.0.113.10' })).toEqual([])
  expect(doubted({ NAMESAKE_PROXY_PROTOCOL: 'required' })).toEqual([])

  const handedOver = createServer().listen(https, '::')
  onTestFinished(() => void handedOver.close())
  await once(handedOver, 'listening')
  expect(doubted()).toEqual(both.slice(0, 1))
})
