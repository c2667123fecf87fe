import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDnsServer } from '../../test/support/dns.ts'
import { createEmptyDatabase } from '../../test/support/postgres.ts'
import { beatEdge } from '../core/edges.ts'
import { allCommands } from './commands.ts'
import { createProgram } from './program.ts'

const LAUNCHER = fileURLToPath(new URL('../../bin/namesake', import.meta.url))
const DATABASE = fileURLToPath(new URL('../../test/support/embedded-postgres.fixture.ts', import.meta.url))

type Outcome = { code: number; out: string; err: string }

let folder: string
let dataDir: string
let database: ChildProcess
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'namesake-cli-'))
  dataDir = mkdtempSync(join(tmpdir(), 'namesake-cli-data-'))
  database = spawn(process.execPath, [DATABASE, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(createInterface(database.stdout!), 'line')
  expect(await run('migrate')).toMatchObject({ code: 0 })
})
afterAll(async () => {
  database.kill('SIGTERM')
  await once(database, 'exit')
  for (const path of [folder, dataDir]) rmSync(path, { recursive: true, force: true })
})

function run(...args: string[]): Promise<Outcome> {
  return runWith({}, ...args)
}

function settingsWith(env: Record<string, string> = {}): Record<string, string> {
  return { PATH: process.env.PATH!, NAMESAKE_DATA_DIR: dataDir, NAMESAKE_LOG_LEVEL: 'silent', ...env }
}

function runWith({ env, launcher = LAUNCHER }: { env?: Record<string, string>; launcher?: string }, ...args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(launcher, args, { env: settingsWith(env), cwd: folder }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    )
  })
}

async function runInto(stdout: 'pipe' | number, begun: (child: ChildProcess) => void, ...args: string[]) {
  const child = spawn(LAUNCHER, args, { env: settingsWith({}), cwd: folder, stdio: ['ignore', stdout, 'pipe'] })
  begun(child)
  const [err, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')])
  return { code, err }
}

async function json<T>(...args: string[]): Promise<T> {
  const { code, out, err } = await run(...args, '--json')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out) as T
}

const makeProject = (slug: string) =>
  json<{ slug: string }>('projects', 'create', '--name', slug, '--slug', slug, '--upstream', 'http://127.0.0.1:3000')

describe('the launcher', () => {
  test('finds the Node that the package brought, also through a link and with an old Node in the PATH', async () => {
    const link = join(folder, 'namesake')
    symlinkSync(LAUNCHER, link)
    const old = join(folder, 'old')
    mkdirSync(old)
    writeFileSync(join(old, 'node'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    const { code, out } = await runWith({ launcher: link, env: { PATH: `${old}:/usr/bin:/bin` } }, '--version')
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  })

  test('takes the Node that it is told to, and says so when that one will not do', async () => {
    const told = join(folder, 'told')
    writeFileSync(told, `#!/bin/sh\n[ "$1" = -e ] && exit 0\necho "told to run $4"\n`, { mode: 0o755 })
    expect(await runWith({ env: { NAMESAKE_NODE: told } }, 'doctor')).toEqual({ code: 0, out: 'told to run doctor\n', err: '' })

    const old = join(folder, 'told-old')
    writeFileSync(old, '#!/bin/sh\n[ "$1" = --version ] && echo v20.1.0 && exit 0\nexit 1\n', { mode: 0o755 })
    const { code, out, err } = await runWith({ env: { NAMESAKE_NODE: old } }, '--version')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toBe(
      `namesake needs Node 24.19 or newer, and NAMESAKE_NODE=${old} is v20.1.0. Without NAMESAKE_NODE it runs on the one that 'npm ci' brings.\n`,
    )
    expect((await runWith({ env: { NAMESAKE_NODE: join(folder, 'nowhere') } }, '--version')).err).toMatch(/nowhere is no Node at all/)
  })

  test('runs what was built, and the sources where one of them is newer, was added or taken away, where the packages are others, or nothing was built', async () => {
    const release = join(folder, 'release')
    for (const part of ['bin', 'src/cli', 'src/core', 'dist/cli']) mkdirSync(join(release, part), { recursive: true })
    writeFileSync(join(release, 'bin/namesake'), readFileSync(LAUNCHER), { mode: 0o755 })
    writeFileSync(join(release, 'src/cli/main.ts'), "console.log('the sources' as string)")
    writeFileSync(join(release, 'src/core/domains.ts'), '')
    writeFileSync(join(release, 'package-lock.json'), 'these packages')
    const built = join(release, 'dist/cli/main.js')
    const build = () => {
      writeFileSync(built, "console.log('built')")
      copyFileSync(join(release, 'package-lock.json'), join(release, 'dist/built-with.json'))
      utimesSync(built, new Date(), new Date(Date.now() + 60_000)) // whatever the file system makes of a moment
    }
    const says = async () => (await runWith({ launcher: join(release, 'bin/namesake'), env: { NAMESAKE_NODE: process.execPath } })).out
    const later = (path: string) => utimesSync(join(release, path), new Date(), new Date(Date.now() + 120_000))

    expect(await says()).toBe('the sources\n')
    build()
    expect(await says()).toBe('built\n')
    for (const changed of ['src/core/domains.ts', 'src/core', 'src']) {
      const { mtime } = statSync(join(release, changed))
      later(changed)
      expect(await says()).toBe('the sources\n')
      utimesSync(join(release, changed), mtime, mtime)
      expect(await says()).toBe('built\n')
    }
    writeFileSync(join(release, 'package-lock.json'), 'other packages')
    expect(await says()).toBe('the sources\n')
    build()
    expect(await says()).toBe('built\n')
  })

  test('says what to do where there is no new enough Node', async () => {
    const elsewhere = join(folder, 'elsewhere', 'bin')
    mkdirSync(elsewhere, { recursive: true })
    writeFileSync(join(elsewhere, 'namesake'), readFileSync(LAUNCHER), { mode: 0o755 })
    const { code, err } = await runWith({ launcher: join(elsewhere, 'namesake'), env: { PATH: '/bin' } }, '--version')
    expect(code).toBe(1)
    expect(err).toMatch(/needs Node 24.*npm ci/)
  })
})

test('every command explains itself, and speaks JSON', () => {
  const all = createProgram(allCommands()).commands.filter((command) => command.name() !== 'help')
  const commands = all.flatMap((command) => (command.commands.length > 0 ? command.commands : [command]))
  const named = commands.map((command) => `${command.parent!.name()} ${command.name()}`.replace('namesake ', ''))
  expect(named).toEqual([
    ...[
      'start',
      'reload',
      'upgrade',
      'projects create',
      'projects update',
      'projects list',
      'tokens issue',
      'tokens list',
      'tokens revoke',
    ],
    ...['members add', 'members list', 'members remove', 'members role'],
    ...['domains add', 'domains list', 'domains remove', 'domains check', 'domains show', 'domains link'],
    ...['certificates list', 'certificates show', 'certificates renew', 'certificates import', 'certificates order', 'certificates export'],
    ...['budget show', 'budget allow', 'budget disallow'],
    ...['edges list', 'edges forget', 'secret status', 'secret reseal', 'migrate', 'edge-access', 'ca', 'doctor'],
  ])
  for (const command of commands) {
    expect(command.description()).not.toBe('')
    expect(command.helpInformation()).toContain('--json')
  }
})

describe('what goes wrong is said on standard error alone', () => {
  test.each([
    [['projects', 'create'], 2, /--name/],
    [['nonsense'], 2, /unknown command/],
    [['help', 'nonsense'], 2, /^namesake: unknown command 'nonsense'/],
    [['help', 'projects', 'nonsense'], 2, /^namesake: unknown command 'nonsense'/],
    [['start', '--roles', 'api,kitchen'], 2, /"kitchen" is none of api, worker, edge, dns/],
    [['projects', 'update', '--slug', 'demo'], 2, /at least one/],
    [['projects', 'update', '--slug', 'demo', '--error-page', 'no-page'], 1, /no-page cannot be read: there is no such file or folder/],
    [['certificates', 'import', '--hostname', 'a.b.com', '--chain', '.', '--key', 'k'], 1, /\. cannot be read: it is a folder/],
    [['tokens', 'issue', '--project', 'nobody'], 1, /^namesake: there is no project nobody\. Which there are: .*namesake projects list\n$/],
    [['domains', 'show', '--project', 'nobody', 'a.b.example'], 1, /no project/],
    [['members', 'add', '--project', 'nobody', 'a@b.example', '--role', 'boss'], 2, /"boss" is no role: it is one of owner, admin, member/],
    [['members', 'role', '--project', 'nobody', 'a@b.example', 'boss'], 2, /"boss" is no role/],
    [['budget', 'allow', 'example.com', '--certificates', '300'], 1, /^namesake: local has no limits/],
    [['projects', 'create', '--name', 'X', '--upstream', 'ftp://x'], 1, /^namesake: .*http.*\n$/],
    [['projects', 'create', '--name', 'X', '--upstream', 'http://127.0.0.1:8080'], 1, /cannot be an upstream/],
    [['projects', 'create', '--name', 'X', '--upstream', 'http://127.0.0.1:1', '--plan', 'gold'], 1, /there is no plan gold/],
  ])('%j', async (command, code, words) => {
    const outcome = await run(...command)
    expect(outcome.err).toMatch(words)
    expect(outcome).toMatchObject({ code, out: '' })
  })

  test('a bad setting', async () => {
    const { code, err } = await runWith({ env: { NAMESAKE_SIGNUP: 'x' } }, 'projects', 'list')
    expect(code).toBe(1)
    expect(err).toMatch(/NAMESAKE_SIGNUP=x is none of open, invited/)
  })

  test('nothing runs here', async () => {
    const { code, err } = await runWith({ env: { NAMESAKE_DATA_DIR: join(folder, 'empty') } }, 'projects', 'list')
    expect(code).toBe(1)
    expect(err).toMatch(
      /^namesake: nothing runs on .*Start it first \(\S*bin\/namesake start\), or .* the folder it was started in, or set NAMESAKE_DATA_DIR\n$/,
    )
    const reload = await runWith({ env: { NAMESAKE_DATA_DIR: join(folder, 'empty') } }, 'reload')
    expect(reload).toMatchObject({ code: 1, err: expect.stringContaining('the folder it was started in') })
  })

  test('a database that was not migrated, or not by this release', async () => {
    const empty = await createEmptyDatabase()
    const env = { NAMESAKE_DATABASE_URL: empty.url, NAMESAKE_SECRET: 'x'.repeat(32) }
    const fresh = await runWith({ env }, 'projects', 'list')
    await runWith({ env }, 'migrate')
    await empty.db.pool.query('alter table projects rename column upstream_protocol to protocol')
    const older = await runWith({ env }, 'projects', 'list')
    await empty.drop()
    for (const { code, err } of [fresh, older])
      expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/^namesake: the database is .*bin\/namesake migrate.*\n$/) })
  })

  test('--demo with a public edge host', async () => {
    const { code, err } = await runWith({ env: { NAMESAKE_EDGE_HOST: 'edge.example.com' } }, 'start', '--demo')
    expect(code).toBe(1)
    expect(err).toMatch(/--demo is for a local start/)
  })
})

test('a terminal obeys neither notes nor arguments nor the name of a machine, which adds no line to a list either', async () => {
  const empty = await createEmptyDatabase()
  const env = {
    NAMESAKE_DATABASE_URL: empty.url,
    NAMESAKE_SECRET: 'x'.repeat(32),
    NAMESAKE_EDGE_HOST: 'edge.example.com',
    NAMESAKE_ACME_DIRECTORY: 'https://acme-v02.api.letsencrypt.org/directory',
  }
  await runWith({ env }, 'migrate')
  const place = { epoch: '1', xid: '1', seq: '1' }
  const beat = { address: undefined, version: '1', runsForMs: 1, behindMs: 0, place, routes: 0, certificates: 0, connections: 0, load: 0 }
  await beatEdge(empty.db, { ...beat, id: randomUUID(), name: 'one\u0007\ntwo  fresh' })
  await runWith({ env }, 'budget', 'allow', 'big.com', '--certificates', '300', '--note', 'form\u001b[2J7')
  const edges = await runWith({ env }, 'edges', 'list')
  const budget = await runWith({ env }, 'budget', 'show')
  await empty.drop()
  expect(edges.out.split('\n')).toEqual([expect.any(String), expect.stringMatching(/^one\?\?two {2}fresh/), ''])
  expect(budget.out).toContain('form?[2J7')
  for (const command of [['edges', 'forget', 'a\u001bb'], ['a\u001bb']]) expect((await run(...command)).err).toContain('a?b')
})

test('edges list does not say of a silent edge how far behind it is: nobody knows', async () => {
  const place = { epoch: '1', xid: '1', seq: '1' }
  const beat = { address: undefined, version: '1', runsForMs: 1, behindMs: 200, place, routes: 0, certificates: 0, connections: 0, load: 0 }
  const heard = await createEmptyDatabase()
  const env = { NAMESAKE_DATABASE_URL: heard.url, NAMESAKE_SECRET: 'x'.repeat(32) }
  await runWith({ env }, 'migrate')
  for (const name of ['fresh-one', 'silent-one']) await beatEdge(heard.db, { ...beat, id: randomUUID(), name })
  await heard.db.pool.query(`update edges set heartbeat_at = now() - interval '1 hour' where name = 'silent-one'`)
  const { out } = await runWith({ env }, 'edges', 'list')
  await heard.drop()
  expect(out).toMatch(/^silent-one +silent since \S.*\S +- +0 +0/m)
  expect(out).not.toMatch(/^silent-one.* 0\.2 s/m)
})

describe('a reader of the output', () => {
  test('may leave early, as head does', async () => {
    for (const command of [['projects', 'list'], ['--help']])
      expect(await runInto('pipe', (child) => child.stdout!.destroy(), ...command)).toEqual({ code: 0, err: '' })
  })

  test('that takes nothing is named in a sentence, and which token was issued in vain', async () => {
    await makeProject('unread')
    const file = join(folder, 'read-only')
    writeFileSync(file, '')
    const readOnly = openSync(file, 'r')
    const { code, err } = await runInto(readOnly, () => {}, 'tokens', 'issue', '--project', 'unread')
    closeSync(readOnly)
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/^namesake: the output cannot be written: EBADF.*$/m) })
    const [{ id }] = await json<[{ id: string }]>('tokens', 'list', '--project', 'unread')
    expect(err).toContain(`tokens revoke --project unread ${id}\n`)
  })
})

test('with --json a failure is one line of JSON, with a code that stays', async () => {
  const { code, out, err } = await run('domains', 'add', '--project', 'nobody', 'shop.customer.com', '--json')
  expect([code, out]).toEqual([1, ''])
  expect(JSON.parse(err)).toEqual({ code: 'project_not_found', detail: expect.stringContaining('nobody') })
  const wrong = await runWith({ env: { NAMESAKE_SIGNUP: 'x' } }, 'projects', 'list', '--json')
  expect(JSON.parse(wrong.err)).toMatchObject({ code: 'setting_invalid', detail: expect.stringContaining('NAMESAKE_SIGNUP=x') })
})

test.each([
  [['projects', 'create', '--json'], /^required option '--name/],
  [['nonsense', '--json'], /^unknown command 'nonsense'/],
  [['projects', '--json'], /^unknown option '--json'/],
  [['start', '--roles', 'kitchen', '--json'], /"kitchen" is none of/],
])('and so is a wrong use: %j', async (command, detail) => {
  const { code, out, err } = await run(...command)
  expect([code, out]).toEqual([2, ''])
  expect(JSON.parse(err)).toEqual({ code: 'usage_invalid', detail: expect.stringMatching(detail) })
})

test('help explains the command that is named', async () => {
  expect(await run('help', 'projects', 'create')).toEqual(await run('projects', 'create', '--help'))
  expect((await run('help', 'start')).out.replaceAll(/\s+/g, ' ')).toContain('(default: all of them, dns where')
  expect((await run('help')).out).toMatch(/^ {2}help <command> +Print the help of a command$/m)
})

test('a project is made, changed and listed', async () => {
  expect(await makeProject('shop')).toMatchObject({ slug: 'shop', upstreamUrl: 'http://127.0.0.1:3000', plan: 'unlimited' })
  expect(await json('projects', 'update', '--slug', 'shop', '--upstream', 'http://127.0.0.1:3001', '--name', 'The shop')).toMatchObject({
    name: 'The shop',
    upstreamUrl: 'http://127.0.0.1:3001',
    upstreamProtocol: 'http1',
  })
  expect(await json('projects', 'update', '--slug', 'shop', '--upstream-protocol', 'h2c')).toMatchObject({ upstreamProtocol: 'h2c' })
  expect(await run('projects', 'update', '--slug', 'shop', '--upstream-protocol', 'h2')).toMatchObject({
    code: 1,
    err: expect.stringContaining('h2 needs an https URL'),
  })
  expect(await json('projects', 'list')).toContainEqual(expect.objectContaining({ slug: 'shop', name: 'The shop', domains: 0 }))
  expect((await run('projects', 'list')).out).toMatch(/^SLUG .*\n(.*\n)*shop +The shop/)
})

test('a project is shown with its brand and its own error page, as the API shows it', async () => {
  const made = await makeProject('branded')
  expect(made).toMatchObject({ brand: { color: null, logoUrl: null }, errorPage: null })
  writeFileSync(join(folder, 'page.html'), '<p>Back soon')
  const look = { brand: { color: null, logoUrl: null }, errorPage: '<p>Back soon' }
  expect(await json('projects', 'update', '--slug', 'branded', '--error-page', 'page.html')).toMatchObject(look)
  writeFileSync(join(folder, 'latin1.html'), Buffer.from('<p>zur\u00fcck', 'latin1'))
  const refused = await run('projects', 'update', '--slug', 'branded', '--error-page', 'latin1.html')
  expect(refused).toMatchObject({ code: 1, err: 'namesake: latin1.html cannot be read: it is not UTF-8: save it as UTF-8\n' })
  expect(await json('projects', 'list')).toContainEqual(expect.objectContaining({ slug: 'branded', ...look }))
})

test('where no plan is called unlimited a new project is on the last one, and doctor names those on a plan that is gone', async () => {
  const upstream = ['--upstream', 'http://127.0.0.1:3000']
  await makeProject('left')
  const env = { NAMESAKE_PLANS: 'free:3,pro:10' }
  const made = await runWith({ env }, 'projects', 'create', '--name', 'planned', '--slug', 'planned', ...upstream, '--json')
  expect({ ...made, out: JSON.parse(made.out) }).toMatchObject({ code: 0, out: { slug: 'planned', plan: 'pro' } })
  const doctor = await runWith({ env }, 'doctor', '--json')
  const doubts = JSON.parse(doctor.out).filter(({ name }: { name: string }) => name === 'plans')
  expect(doubts).toEqual([
    { name: 'plans', state: 'doubtful', sentence: expect.stringMatching(/^NAMESAKE_PLANS names no plan unlimited, so .*\bleft\b/) },
  ])
  expect(doubts[0].sentence).not.toContain('planned')
  expect((await run('doctor')).out).not.toContain('names no plan unlimited')
})

test('customers of a project are told a name of its vendor’s, once that leads to the edge host', async () => {
  await makeProject('target')
  const set = (target: string, ...more: string[]) => run('projects', 'update', '--slug', 'target', '--cname-target', target, ...more)
  expect(await set('a.edge.localhost')).toMatchObject({ code: 1, err: expect.stringContaining('belongs to the service itself') })
  expect(await set('https://customers.localhost')).toMatchObject({ code: 1, err: expect.stringContaining('is a URL') })
  expect((await set('Customers.localhost')).out).toContain('CNAME target customers.localhost')
  expect(await json('projects', 'list')).toContainEqual(expect.objectContaining({ slug: 'target', cnameTarget: 'customers.localhost' }))
  expect(JSON.parse((await set('none', '--json')).out)).toMatchObject({ cnameTarget: null })
  const dns = await startDnsServer()
  try {
    const env = { NAMESAKE_DNS_SERVERS: dns.endpoint }
    const far = await runWith({ env }, 'projects', 'update', '--slug', 'target', '--cname-target', 'customers.vendor.example')
    expect(far).toMatchObject({ code: 1, err: expect.stringContaining('customers.vendor.example CNAME edge.localhost') })
  } finally {
    await dns.stop()
  }
})

test('what was agreed with an authority for a domain is kept, shown and ended', async () => {
  const env = { NAMESAKE_EDGE_HOST: 'edge.example.com', NAMESAKE_ACME_DIRECTORY: 'https://acme-v02.api.letsencrypt.org/directory' }
  const budget = (...args: string[]) => runWith({ env }, 'budget', ...args)
  expect(await budget('allow', 'shop.big.com', '--certificates', '300')).toMatchObject({
    code: 1,
    err: expect.stringContaining('for big.com'),
  })
  expect(await budget('allow', 'big.com', '--certificates', 'many')).toMatchObject({
    code: 1,
    err: expect.stringContaining('whole number'),
  })
  expect(await budget('allow', 'big.com', '--certificates', '300', '--note', 'form 7')).toMatchObject({ code: 0, err: '' })
  expect(await budget('allow', 'big.com', '--certificates', '3e2')).toMatchObject({ code: 1, err: expect.stringContaining('whole number') })
  expect(await budget('allow', 'big.com', '--certificates', '300')).toMatchObject({ code: 0 })
  expect((await budget('show')).out).toMatch(
    /0 of 300 orders in 3 hours, of which new certificates may use 240\n(.*\n)*big\.com +300 .* form 7/,
  )
  expect(JSON.parse((await budget('show', '--json')).out)).toMatchObject({
    waiting: [],
    exceptions: [{ registeredDomain: 'big.com', note: 'form 7' }],
  })
  expect(await budget('disallow', 'big.com')).toMatchObject({ code: 0 })
  expect(await budget('disallow', 'big.com')).toMatchObject({ code: 1, err: expect.stringContaining('no exception') })
  expect(await json('budget', 'show')).toEqual({
    directories: [{ directory: 'local', account: null, domains: [], blocks: [] }],
    waiting: [],
    exceptions: [],
  })
})

test('a token is issued, shown once, and revoked', async () => {
  await makeProject('keys')
  const { id, token } = await json<{ id: string; token: string }>('tokens', 'issue', '--project', 'keys', '--name', 'ci')
  expect(token).toMatch(/^svc_[a-f0-9]{64}$/)
  const listed = await run('tokens', 'list', '--project', 'keys')
  expect(listed.out).toContain('ci')
  expect(listed.out).not.toContain(token)
  const { err } = await run('tokens', 'revoke', '--project', 'keys', '999999')
  expect(err).toMatch(/^namesake: the project has no token 999999\. Which there are: .*namesake tokens list --project keys\n$/)
  await json('tokens', 'revoke', '--project', 'keys', id)
  expect(await json('tokens', 'list', '--project', 'keys')).toEqual([expect.objectContaining({ id, revokedAt: expect.any(String) })])
})

test('a domain is claimed, shown with the record to add, and given up; its metadata comes back as it was written', async () => {
  await makeProject('names')
  const add = await run('domains', 'add', '--project', 'names', 'Shop.Customer.example', '--metadata', '{"b":1,"1":2}', '--json')
  expect(JSON.parse(add.out)).toMatchObject({ hostname: 'shop.customer.example', projectSlug: 'names', verified: false, verifiedAt: null })
  expect(add.out).toContain('"metadata": {"b":1,"1":2}')
  expect((await run('domains', 'show', '--project', 'names', 'shop.customer.example')).out).toMatch(
    /shop\.customer\.example {2}CNAME {2}edge\.localhost/,
  )
  expect(await json('domains', 'list', '--project', 'names')).toHaveLength(1)
  await json('domains', 'remove', '--project', 'names', 'shop.customer.example')
  expect(await json('domains', 'list', '--project', 'names')).toEqual([])
})

test('whoever claims a public name here is told that the record would lead nowhere', async () => {
  await makeProject('trial')
  const add = async (...more: string[]) => (await run('domains', 'add', '--project', 'trial', ...more)).out
  const told = 'edge.localhost leads all to their own machine: set NAMESAKE_EDGE_HOST'
  expect(await add('shop.trial-customer.example')).toContain(told)
  expect(await add('shop.localhost')).not.toContain(told)
})

test('no access is printed to a database that no edge machine could reach', async () => {
  expect(await run('edge-access')).toMatchObject({ code: 1, out: '', err: expect.stringContaining('need a PostgreSQL server') })
})

test('members are added, given another role and removed, never the last owner', async () => {
  await makeProject('people')
  const members = (...args: string[]) => json<{ email: string; role: string }>('members', args[0]!, '--project', 'people', ...args.slice(1))
  expect(await members('add', 'Ada@Vendor.example', '--role', 'owner')).toMatchObject({ email: 'ada@vendor.example', role: 'owner' })
  await members('add', 'bob@vendor.example')
  const again = ['members', 'add', '--project', 'people', 'bob@vendor.example', '--role', 'admin']
  const alreadyMember = /already, as member,.*namesake members role --project people bob@vendor\.example admin$/
  const inText = await run(...again)
  expect(inText).toMatchObject({ code: 1, out: '' })
  expect(inText.err.trimEnd()).toMatch(alreadyMember)
  const inJson = await run(...again, '--json')
  expect(inJson).toMatchObject({ code: 1, out: '' })
  expect(JSON.parse(inJson.err)).toEqual({ code: 'failed', detail: expect.stringMatching(alreadyMember) })
  expect(await members('role', 'bob@vendor.example', 'admin')).toMatchObject({ role: 'admin' })
  expect(await members('add', 'bob@vendor.example')).toMatchObject({ role: 'admin' }) // sends the invitation anew
  expect((await run('members', 'list', '--project', 'people')).out).toMatch(/ada@vendor\.example +owner .*\nbob@vendor\.example +admin/)
  const refused = await run('members', 'remove', '--project', 'people', 'ada@vendor.example')
  expect(refused).toMatchObject({ code: 1, out: '', err: expect.stringContaining('the only owner') })
  await members('remove', 'bob@vendor.example')
  expect(await members('list')).toHaveLength(1)
})

test('who belongs to a project by an address in letters, as an earlier version stored it, is found by it after migrate', async () => {
  const former = await createEmptyDatabase()
  const env = { NAMESAKE_DATABASE_URL: former.url, NAMESAKE_SECRET: 'x'.repeat(32) }
  await runWith({ env }, 'migrate')
  await runWith(
    { env },
    'projects',
    'create',
    '--name',
    'Former',
    '--slug',
    'former',
    '--upstream',
    'http://127.0.0.1:3000',
    '--owner',
    'ada@vendor.example',
  )
  await former.db.pool.query(`insert into members (project_id, email, role) select id, 'bob@bücher.example', 'member' from projects`)
  await runWith({ env }, 'migrate')
  const changed = await runWith({ env }, 'members', 'role', '--project', 'former', 'bob@bücher.example', 'admin')
  const listed = await runWith({ env }, 'members', 'list', '--project', 'former')
  await former.drop()
  expect(changed).toMatchObject({ code: 0, out: 'bob@xn--bcher-kva.example (bücher.example) is now admin of former.\n' })
  expect(listed.out).toMatch(/^bob@xn--bcher-kva\.example \(bücher\.example\) +admin/m)
})

test('a page for the owner of a hostname is made', async () => {
  await makeProject('links')
  await run('domains', 'add', '--project', 'links', 'shop.link-customer.example')
  const env = { NAMESAKE_SECRET: 'a secret of 32 bytes or rather more' }
  const made = await runWith({ env }, 'domains', 'link', '--project', 'links', 'shop.link-customer.example')
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^http:\/\/localhost:4000\/connect#[\w-]{64}\n$/) })
  expect(made.err).toMatch(/For the owner of shop\.link-customer\.example, until \d{4}-/)
})

test('a check looks the DNS up and keeps what it found', async () => {
  await makeProject('checks')
  await run('domains', 'add', '--project', 'checks', 'hello.localhost')
  expect(await json('domains', 'check', '--project', 'checks', 'hello.localhost')).toMatchObject({
    verified: true,
    dns: { state: 'verified' },
  })
})

test('doctor has a line for every part of the installation', async () => {
  const { out } = await run('doctor')
  for (const part of ['settings', 'database', 'secret', 'ports', 'DNS', 'authority'])
    expect(out).toMatch(new RegExp(`^[✓!✗] ${part} `, 'm'))
  expect(out).toMatch(/✓ database +embedded PostgreSQL 18/)
})

test('doctor takes an empty database for one that the first start fills, also where the group of edge machines is there from another one', async () => {
  const empty = await createEmptyDatabase()
  await empty.db.pool.query(
    'do $$ begin create role namesake_edge nologin; exception when duplicate_object or unique_violation then null; end $$',
  )
  const env = { NAMESAKE_DATABASE_URL: empty.url, NAMESAKE_SECRET: 'x'.repeat(32) }
  const { out } = await runWith({ env }, 'doctor')
  await runWith({ env }, 'migrate')
  await empty.db.pool.query('revoke select on changes from namesake_edge') // as a restore leaves it, with --no-privileges
  const restored = await runWith({ env }, 'doctor')
  await empty.drop()
  expect(restored.out).toMatch(/! edge role +the group namesake_edge has no rights here yet.*grants them/)
  expect(out).toMatch(/✓ database +PostgreSQL \S+.* answers/)
  expect(out).toMatch(/✓ database +it has no tables of Namesake yet/)
  expect(out).not.toMatch(/edge role|could not be looked at/)
})

test('doctor names an unreachable database and authority, what it could not look at, and an address of another machine, in words, and ends with 1', async () => {
  const env = {
    NAMESAKE_DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none',
    NAMESAKE_SECRET: 'x'.repeat(32),
    NAMESAKE_ACME_DIRECTORY: 'https://127.0.0.1:9/dir',
    NAMESAKE_DNS_SERVERS: '127.0.0.1:9',
    NAMESAKE_EDGE_HOST: 'edge.example.com',
    NAMESAKE_HTTP_ADDR: '192.0.2.1:80',
  }
  const { code, out } = await runWith({ env }, 'doctor', '--json')
  expect(code).toBe(1)
  const checks = JSON.parse(out) as { name: string; state: string; sentence: string }[]
  const bad = checks.filter(({ state }) => state === 'bad')
  const refused = expect.stringContaining('127.0.0.1:9: nothing there accepts connections (ECONNREFUSED). Look at')
  expect(bad).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        name: 'database',
        sentence: expect.stringContaining('nothing there accepts connections (ECONNREFUSED). Look'),
      }),
      expect.objectContaining({ name: 'authority', sentence: refused }),
      expect.objectContaining({
        name: 'ports',
        sentence: expect.stringMatching(/^NAMESAKE_HTTP_ADDR: this machine has no address 192\.0\.2\.1\. Set/),
      }),
    ]),
  )
  const unseen = checks.filter(({ sentence }) => sentence.startsWith('this could not be looked at: '))
  expect(unseen.map(({ name, state }) => [name, state])).toEqual(
    ['secret', 'plans', 'DNS', 'CAA', 'certificates'].map((name) => [name, 'doubtful']),
  )
})
