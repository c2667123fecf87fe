import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConfigError, readConfig } from './config.ts'

let cwd: string
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'namesake-config-'))
})
afterAll(() => rmSync(cwd, { recursive: true }))

const SECRET = 'x'.repeat(32)
const read = (env: Record<string, string> = {}) => readConfig(env, cwd).config

test('nothing needs to be set for a local start', () => {
  const { config, warnings } = readConfig({}, cwd)
  expect(warnings).toEqual([])
  expect(config).toMatchObject({
    dataDir: join(cwd, '.namesake'),
    databaseUrl: undefined,
    feedDatabaseUrl: undefined,
    baseUrl: new URL('http://localhost:4000'),
    portalUrl: new URL('http://localhost:4000'),
    edgeHost: 'edge.localhost',
    edgeIps: ['127.0.0.1'],
    apiAddr: { host: '127.0.0.1', port: 4000 },
    internalAddr: { host: '127.0.0.1', port: 4001 },
    httpAddr: { host: '0.0.0.0', port: 8080 },
    httpsAddr: { host: '0.0.0.0', port: 8443 },
    publicHttpPort: 8080,
    publicHttpsPort: 8443,
    upstreamSourceIps: [],
    acmeDirectories: ['local'],
    acmeEab: [null],
    dnsServers: [],
    dnsZone: undefined,
    dnsAddr: { host: '0.0.0.0', port: 53 },
    probeIntervalS: 300,
    signup: 'open',
    secrets: [],
    allowPrivateUpstreams: true,
    trustedProxies: [],
    proxyProtocol: 'off',
    local: true,
    accessLogSample: 1,
    logLevel: 'info',
  })
  expect([...config.plans]).toEqual([
    ['free', 100],
    ['pro', 10_000],
    ['unlimited', 0],
  ])
})

test.each([
  ['NAMESAKE_API_ADDR', '[::1]:5000', 'apiAddr', { host: '::1', port: 5000 }],
  ['NAMESAKE_API_ADDR', 'localhost:5000', 'apiAddr', { host: '127.0.0.1', port: 5000 }],
  ['NAMESAKE_API_ADDR', '127.0.0.1:5000', 'baseUrl', new URL('http://localhost:5000')],
  ['NAMESAKE_BASE_URL', 'https://api.vendor.example', 'portalUrl', new URL('https://api.vendor.example')],
  ['NAMESAKE_HTTPS_ADDR', '0.0.0.0:443', 'publicHttpsPort', 443],
  ['NAMESAKE_EDGE_ADDRESS', '10.0.0.7', 'edgeAddress', '10.0.0.7:8443'],
  ['NAMESAKE_EDGE_ADDRESS', 'edge-1.internal:443', 'edgeAddress', 'edge-1.internal:443'],
  ['NAMESAKE_EDGE_ADDRESS', '2001:db8::7', 'edgeAddress', '[2001:db8::7]:8443'],
  ['NAMESAKE_EDGE_ADDRESS', '[2001:db8::7]:443', 'edgeAddress', '[2001:db8::7]:443'],
  ['NAMESAKE_EDGE_NAME', 'paris-1', 'edgeName', 'paris-1'],
  ['NAMESAKE_PUBLIC_HTTP_PORT', '80', 'publicHttpPort', 80],
  ['NAMESAKE_ACME_PROFILE', 'shortlived', 'acmeProfile', 'shortlived'],
  ['NAMESAKE_EDGE_HOST', 'Edge.Example.com.', 'edgeHost', 'edge.example.com'],
  ['NAMESAKE_EDGE_HOST', 'edge.example.com', 'local', false],
  ['NAMESAKE_EDGE_HOST', 'edge.example.com', 'allowPrivateUpstreams', false],
  ['NAMESAKE_EDGE_IPS', '192.0.2.1, 2001:db8::1', 'edgeIps', ['192.0.2.1', '2001:db8::1']],
  ['NAMESAKE_DNS_SERVERS', '127.0.0.1:53,[::1]:5353,9.9.9.9', 'dnsServers', ['127.0.0.1:53', '[::1]:5353', '9.9.9.9']],
  ['NAMESAKE_DATA_DIR', 'data', 'dataDir', '<cwd>/data'],
  ['NAMESAKE_DATA_DIR', '', 'dataDir', '<cwd>/.namesake'],
  ['NAMESAKE_PLANS', 'one:1', 'plans', new Map([['one', 1]])],
  ['NAMESAKE_SECRET', `${'n'.repeat(32)},${SECRET}`, 'secrets', ['n'.repeat(32), SECRET]],
  ['NAMESAKE_ACME_DIRECTORY', 'https://127.0.0.1:14000/dir,local', 'acmeDirectories', ['https://127.0.0.1:14000/dir', 'local']],
  ['NAMESAKE_EDGE_CONNECTIONS', '', 'edgeConnections', 8_000],
  ['NAMESAKE_CLIENT_CONNECTIONS', '0', 'clientConnections', 0],
  ['NAMESAKE_BRIDGE_MS', '', 'bridgeMs', 10_000],
  ['NAMESAKE_BRIDGE_MS', '0', 'bridgeMs', 0],
  ['NAMESAKE_HTTP2_ENGINE', 'node', 'http2Engine', 'node'],
  ['NAMESAKE_HTTP2_ENGINE', '', 'http2Engine', 'own'],
  ['NAMESAKE_EDGE_RUNTIME', '', 'edgeRuntime', 'node'],
  ['NAMESAKE_EDGE_RUNTIME', 'bun', 'edgeRuntime', 'bun'],
  ['NAMESAKE_ACCESS_LOG_SAMPLE', '0.25', 'accessLogSample', 0.25],
  ['NAMESAKE_TRUSTED_PROXIES', '10.0.0.0/8,::1', 'trustedProxies', ['10.0.0.0/8', '::1']],
] as const)('%s=%s makes %s %j', (name, value, key, expected) => {
  const wanted = typeof expected === 'string' ? expected.replace('<cwd>', cwd) : expected
  expect(read({ [name]: value })[key]).toEqual(wanted)
})

test('account bindings stand beside their directories', () => {
  const directories = 'https://127.0.0.1:14000/dir,https://127.0.0.1:14001/dir'
  expect(read({ NAMESAKE_ACME_DIRECTORY: directories, NAMESAKE_ACME_EAB: 'kid:1:aG1hYw,-' }).acmeEab).toEqual([
    { kid: 'kid:1', hmac: 'aG1hYw' },
    null,
  ])
})

describe('what cannot be used is refused', () => {
  test.each([
    ['NAMESAKE_API_ADDR', '4000', /IP address, a colon and a port/],
    ['NAMESAKE_API_ADDR', '127.0.0.1:0', /has the port 0, which is not a whole number from 1 to 65535/],
    ['NAMESAKE_EDGE_ADDRESS', '10.0.0.7:99999', /has the port 99999, which is not a whole number/],
    ['NAMESAKE_API_ADDR', 'example.com:80', /IP address/],
    ['NAMESAKE_INTERNAL_ADDR', '127.0.0.1:4000', /address of NAMESAKE_API_ADDR/],
    ['NAMESAKE_BASE_URL', 'https://api.example.com/v1', /path/],
    ['NAMESAKE_BASE_URL', 'ftp://api.example.com', /http or https/],
    ['NAMESAKE_EDGE_HOST', 'localhost', /one label/],
    ['NAMESAKE_EDGE_IPS', '192.0.2.1,nowhere', /"nowhere"/],
    ['NAMESAKE_EDGE_WORKERS', '0', /from 1 to 256/],
    ['NAMESAKE_COPY_HOSTNAMES_MAX', '99', /0, for all, or at least 100/],
    ['NAMESAKE_PUBLIC_HTTPS_PORT', '70000', /from 1 to 65535/],
    ['NAMESAKE_ACME_DIRECTORY', 'http://acme.example.com/', /https/],
    ['NAMESAKE_ACME_DIRECTORY', 'https://acme-v02.api.letsencrypt.org/directory', /NAMESAKE_EDGE_HOST=edge.localhost is local/],
    ['NAMESAKE_ACME_EAB', 'kid:aG1hYw,-', /2 entries for 1 directories/],
    ['NAMESAKE_ACME_EAB', 'nonsense', /kid:hmac/],
    ['NAMESAKE_ACME_EMAIL', 'nobody', /mail address/],
    ['NAMESAKE_ACME_PROFILE', 'one,two', /one ACME profile/],
    ['NAMESAKE_ACME_CA_FILE', 'missing.pem', /ENOENT/],
    ['NAMESAKE_DNS_SERVERS', 'dns.example.com', /ip or ip:port/],
    ['NAMESAKE_DNS_ZONE', 'zone', /one label/],
    ['NAMESAKE_DNS_ZONE', 'edge.localhost', /holds edge.localhost \(NAMESAKE_EDGE_HOST\)/],
    ['NAMESAKE_DNS_ADDR', 'ns1.example.com:53', /IP address/],
    ['NAMESAKE_PROBE_INTERVAL_S', '-1', /from 1/],
    ['NAMESAKE_PLANS', 'free', /name:domains/],
    ['NAMESAKE_PLANS', 'a:1,a:2', /twice/],
    ['NAMESAKE_SIGNUP', 'closed', /open, invited/],
    ['NAMESAKE_SMTP_URL', 'mail.example.com', /smtp:/],
    ['NAMESAKE_SMTP_URL', 'smtp://mail.example.com', /NAMESAKE_MAIL_FROM is required/],
    ['NAMESAKE_SECRET', 'short', /at least 32 bytes, this one has 5/],
    ['NAMESAKE_DATABASE_URL', 'mysql://localhost', /PostgreSQL/],
    ['NAMESAKE_DATABASE_URL', 'postgres://db1,db2:99999/namesake', /has the port "99999"/],
    [
      'NAMESAKE_DATABASE_URL',
      'postgres://db1,db2/namesake?target_session_attrs=standby',
      /Namesake writes there, so it has to be read-write/,
    ],
    ['NAMESAKE_DATABASE_URL', 'postgres://localhost/namesake', /NAMESAKE_SECRET is required/],
    ['NAMESAKE_FEED_DATABASE_URL', 'replica.example.com', /not a PostgreSQL address/],
    ['NAMESAKE_FEED_DATABASE_URL', 'postgres://replica.example.com/namesake', /needs NAMESAKE_DATABASE_URL beside it/],
    ['NAMESAKE_ALLOW_PRIVATE_UPSTREAMS', 'yes', /true nor false/],
    ['NAMESAKE_TRUSTED_PROXIES', '10.0.0.0/40', /10.0.0.0\/40/],
    ['NAMESAKE_PROXY_PROTOCOL', 'on', /off, required/],
    ['NAMESAKE_EDGE_CONNECTIONS', 'many', /from 0 to 1000000/],
    ['NAMESAKE_CLIENT_CONNECTIONS', '-1', /from 0 to 1000000/],
    ['NAMESAKE_BRIDGE_MS', '3600000', /from 0 to 60000/],
    ['NAMESAKE_HTTP2_ENGINE', 'nghttp2', /own, node/],
    ['NAMESAKE_EDGE_RUNTIME', 'deno', /node, bun/],
    ['NAMESAKE_ACCESS_LOG_SAMPLE', '2', /0 to 1/],
    ['NAMESAKE_LOG_LEVEL', 'loud', /debug/],
  ])('%s=%s', (name, value, problem) => {
    expect(() => read({ [name]: value })).toThrow(ConfigError)
    expect(() => read({ [name]: value })).toThrow(problem)
    expect(() => read({ [name]: value })).toThrow(/Example: NAMESAKE_/)
  })
})

test('the HTTP/2 of Node’s own module is refused where Bun runs the edge', () => {
  const message = messageOf({ NAMESAKE_EDGE_RUNTIME: 'bun', NAMESAKE_HTTP2_ENGINE: 'node' })
  expect(message).toMatch(/NAMESAKE_HTTP2_ENGINE=node does not go with NAMESAKE_EDGE_RUNTIME=bun/)
})

test('one message names every bad variable, each with an example', () => {
  const message = messageOf({ NAMESAKE_API_ADDR: 'here', NAMESAKE_SIGNUP: 'x', NAMESAKE_DATABASE_URL: 'postgres://db/x' })
  expect(message).toMatch(/^3 settings cannot be used:/)
  for (const name of ['API_ADDR', 'SIGNUP', 'SECRET']) expect(message).toMatch(new RegExp(`NAMESAKE_${name}.*Example: NAMESAKE_${name}=`))
})

test.each([
  ['127.0.0.1:4000', '0.0.0.0:4000'],
  ['0.0.0.0:4000', '127.0.0.1:4000'],
  ['[::]:4000', '127.0.0.1:4000'],
  ['[::1]:4000', '[::]:4000'],
  ['127.0.0.1:4000', '127.0.0.1:4000'],
])('the API on %s leaves no room for HTTP on %s', (api, http) => {
  const message = messageOf({ NAMESAKE_API_ADDR: api, NAMESAKE_HTTP_ADDR: http })
  expect(message).toMatch(/NAMESAKE_HTTP_ADDR=\S+:4000 is the address of NAMESAKE_API_ADDR too/)
})

test.each([
  ['127.0.0.1:4000', '127.0.0.2:4000'],
  ['[::1]:4000', '0.0.0.0:4000'],
])('the API on %s leaves room for HTTP on %s', (api, http) => {
  expect(readConfig({ NAMESAKE_API_ADDR: api, NAMESAKE_HTTP_ADDR: http }, '/').config.httpAddr.port).toBe(4000)
})

test('a message never shows a secret', () => {
  const message = messageOf({
    NAMESAKE_SECRET: 'hunter2',
    NAMESAKE_DATABASE_URL: 'mysql://u:hunter2@h',
    NAMESAKE_SMTP_URL: 'hunter2',
    NAMESAKE_ACME_EAB: '%hunter2',
    NAMESAKE_BASE_URL: 'https://vendor:hunter2@api.example.com',
  })
  expect(message).toContain('NAMESAKE_BASE_URL=https://...@api.example.com carries a user name or password')
  expect(message).not.toMatch(/hunter2/)
})

test('an unknown variable is a warning with the nearest name', () => {
  const { warnings } = readConfig({ NAMESAKE_EDGE_HOSTNAME: 'edge.example.com', NAMESAKE_DATABSE_URL: 'postgres://x' }, cwd)
  expect(warnings).toEqual([
    'NAMESAKE_EDGE_HOSTNAME is not a setting and has no effect: did you mean NAMESAKE_EDGE_HOST?',
    'NAMESAKE_DATABSE_URL is not a setting and has no effect: did you mean NAMESAKE_DATABASE_URL?',
  ])
})

test('a setting that is missing is named beside the unknown variable that was meant for it', () => {
  const misspelt = { NAMESAKE_DATABASE_URL: 'postgres://x', NAMESAKE_SECERT: 's'.repeat(32) }
  expect(() => readConfig(misspelt, cwd)).toThrow(
    /^One setting cannot be used:\n {2}NAMESAKE_SECRET is required .*\n {2}NAMESAKE_SECERT is not a setting .* did you mean NAMESAKE_SECRET\?$/,
  )
})

test('a public edge with the built-in authority, or without addresses, is a warning', () => {
  const { warnings } = readConfig({ NAMESAKE_EDGE_HOST: 'edge.example.com', NAMESAKE_BASE_URL: 'https://api.example.com' }, cwd)
  expect(warnings).toEqual([expect.stringContaining('NAMESAKE_ACME_DIRECTORY'), expect.stringContaining('NAMESAKE_EDGE_IPS')])
})

test.each([
  [{}, ['NAMESAKE_BASE_URL is http://localhost:4000: links in mails and answers lead whoever follows them to their own machine.']],
  [{ BASE_URL: 'https://127.0.0.2' }, ['NAMESAKE_BASE_URL is https://127.0.0.2: links']],
  [{ PORTAL_URL: 'https://portal.example.com' }, ['NAMESAKE_BASE_URL is http://localhost:4000: links']],
  [{ BASE_URL: 'https://api.example.com', PORTAL_URL: 'http://app.localhost' }, ['NAMESAKE_PORTAL_URL is http://app.localhost: links']],
  [
    { BASE_URL: 'http://api.example.com' },
    ['NAMESAKE_BASE_URL is http://api.example.com: tokens, sessions and sign-in links cross the network'],
  ],
  [{ BASE_URL: 'https://api.example.com' }, []],
])('a public edge whose API or portal %j the world cannot reach, or only in the open, is a warning', (env, starts) => {
  const all = { EDGE_HOST: 'edge.example.com', EDGE_IPS: '203.0.113.10', ACME_DIRECTORY: 'https://acme.example.com/dir', ...env }
  const named = Object.fromEntries(Object.entries(all).map(([name, value]) => [`NAMESAKE_${name}`, value]))
  expect(readConfig(named, cwd).warnings).toEqual(starts.map((start) => expect.stringContaining(start)))
})

test('.env is read, and the environment stands above it', () => {
  const folder = mkdtempSync(join(cwd, 'dotenv-'))
  writeFileSync(
    join(folder, '.env'),
    'NAMESAKE_EDGE_HOST=edge.example.com # ours\nNAMESAKE_PROBE_INTERVAL_S=60\nNAMESAKE_PROBE_INTERVAL=1\n',
  )
  const { config, warnings } = readConfig({ NAMESAKE_PROBE_INTERVAL_S: '30' }, folder)
  expect(config).toMatchObject({ edgeHost: 'edge.example.com', probeIntervalS: 30 })
  expect(warnings[0]).toMatch(/did you mean NAMESAKE_PROBE_INTERVAL_S/)
})

test('a Node that .env names, where the launcher does not look, is a warning, unless the environment names one', () => {
  const folder = mkdtempSync(join(cwd, 'dotenv-'))
  writeFileSync(join(folder, '.env'), 'NAMESAKE_NODE=/usr/local/bin/node\n')
  const warning =
    'NAMESAKE_NODE in .env has no effect: set it in the environment. Example: NAMESAKE_NODE=/usr/local/bin/node bin/namesake start'
  expect(readConfig({}, folder).warnings).toEqual([warning])
  expect(readConfig({ NAMESAKE_NODE: '/opt/node/bin/node' }, folder).warnings).toEqual([])
})

function messageOf(env: Record<string, string>): string {
  try {
    read(env)
  } catch (error) {
    return (error as Error).message
  }
  return ''
}
