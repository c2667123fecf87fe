import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { doubts } from './config-doubts.ts'
import { NO_SETTINGS, nearestName, unreadByLauncher } from './config-names.ts'
import {
  type Address,
  type EabKey,
  isPublicDirectory,
  meet,
  parseAcmeDirectory,
  parseAddress,
  parseBoolean,
  parseChoice,
  parseCidr,
  parseCopyBound,
  parseDatabaseUrl,
  parseDnsServer,
  parseEab,
  parseFeedUrl,
  parseFraction,
  parseHost,
  parseInteger,
  parseIpAddress,
  parseList,
  parseMachineName,
  parseMailAddress,
  parseOrigin,
  parsePlans,
  parsePort,
  parseProfile,
  parseReachableAddress,
  parseReadableFile,
  parseSecret,
  parseSmtpUrl,
} from './config-values.ts'
import type { Hostname } from './hostname.ts'

export type { Address } from './config-values.ts'

/** Every setting of the installation, parsed. `secrets` has the newest first; it is empty when the embedded start has yet to make one. */
export type Config = Readonly<{
  dataDir: string
  databaseUrl: string | undefined
  /** Where followers read the feed and its rows when not there. */
  feedDatabaseUrl: string | undefined
  baseUrl: URL
  portalUrl: URL
  edgeHost: Hostname
  edgeIps: string[]
  apiAddr: Address
  internalAddr: Address
  httpAddr: Address
  httpsAddr: Address
  publicHttpPort: number
  publicHttpsPort: number
  edgeWorkers: number
  /** What this machine is called in the list of edges; its own name where undefined. */
  edgeName: string | undefined
  /** host:port at which workers reach this machine's https; undefined: none visits it. */
  edgeAddress: string | undefined
  /** How many hostnames the local copy holds; 0: all. */
  copyHostnamesMax: number
  upstreamSourceIps: string[]
  /** `local` (the built-in authority) or URLs, first preferred. */
  acmeDirectories: string[]
  acmeEmail: string | undefined
  acmeCaFile: string | undefined
  /** Ordered from every directory that offers it. */
  acmeProfile: string | undefined
  /** One entry a directory. */
  acmeEab: (EabKey | null)[]
  dnsServers: string[]
  /** The zone that `--roles dns` answers for, below which customers delegate `_acme-challenge`; undefined: no DNS-01 and no wildcards. */
  dnsZone: Hostname | undefined
  dnsAddr: Address
  probeIntervalS: number
  /** Plan name → domains allowed, 0 = no limit. */
  plans: ReadonlyMap<string, number>
  signup: 'open' | 'invited'
  /** Calls a second and project with its tokens; 0: no limit. */
  projectRate: number
  smtpUrl: string | undefined
  mailFrom: string | undefined
  secrets: string[]
  allowPrivateUpstreams: boolean
  trustedProxies: string[]
  proxyProtocol: 'off' | 'required'
  http2Engine: 'own' | 'node'
  /** For how long a request waits for an upstream that cannot be reached; 0: not at all. */
  bridgeMs: number
  /** Visitors' connections that one edge process holds at most, and those of one client's address in it; 0: no limit. */
  edgeConnections: number
  clientConnections: number
  /** What runs the edge processes. */
  edgeRuntime: 'node' | 'bun'
  /** The edge host is under `.localhost`: this installation serves its own machine. */
  local: boolean
  /** The share of requests that the access log shows, 0 to 1. */
  accessLogSample: number
  logLevel: string
}>

/** One message that names every bad variable, what is wrong with it, and an example that would do. */
export class ConfigError extends Error {
  /** `unknown`: a name that was misspelt can be all that is wrong. */
  constructor(problems: readonly string[], unknown: readonly string[] = []) {
    const count = problems.length === 1 ? 'One setting' : `${problems.length} settings`
    super([`${count} cannot be used:`, ...problems, ...unknown].join('\n  '))
    this.name = 'ConfigError'
  }
}

/** Variables by name, as in an environment or a `.env`. */
export type Env = Readonly<Record<string, string | undefined>>

const PROBE_INTERVAL_S_MAX = 86_400
const PROJECT_RATE_MAX = 1_000_000
const EDGE_WORKERS_MAX = 256
const CONNECTIONS_MAX = 1_000_000
const BRIDGE_MS_MAX = 60_000
const SECRET_COMMAND = '$(openssl rand -hex 32)'

/**
 * Reads every NAMESAKE_* setting from the environment, else from `.env` in `cwd` or what was read there before, else its default; an empty value
 * counts as none. Relative paths start at `cwd`. A variable that nobody knows is a warning. Throws ConfigError.
 */
export function readConfig(env: Env, cwd: string, dotEnv = readDotEnv(cwd)): { config: Config; warnings: string[]; dotEnv: Env } {
  const reading = new Reading({ ...dotEnv, ...env })
  const { optional, required } = reading

  const apiAddr = required('API_ADDR', parseAddress, { host: '127.0.0.1', port: 4000 }, '127.0.0.1:4000')
  const internalAddr = required('INTERNAL_ADDR', parseAddress, { host: '127.0.0.1', port: 4001 }, '127.0.0.1:4001')
  const httpAddr = required('HTTP_ADDR', parseAddress, { host: '0.0.0.0', port: 8080 }, '0.0.0.0:80')
  const httpsAddr = required('HTTPS_ADDR', parseAddress, { host: '0.0.0.0', port: 8443 }, '0.0.0.0:443')
  const edgeHost = required('EDGE_HOST', parseHost, 'edge.localhost' as Hostname, 'edge.example.com')
  const local = edgeHost.endsWith('.localhost')
  const baseUrl = required('BASE_URL', parseOrigin, new URL(`http://localhost:${apiAddr.port}`), 'https://api.example.com')
  const acmeDirectories = required(
    'ACME_DIRECTORY',
    parseList(parseAcmeDirectory),
    ['local'],
    'https://acme-v02.api.letsencrypt.org/directory',
  )

  const config: Config = {
    dataDir: required('DATA_DIR', (text) => resolve(cwd, text), resolve(cwd, '.namesake'), '/var/lib/namesake'),
    databaseUrl: optional('DATABASE_URL', parseDatabaseUrl, 'postgres://namesake:password@db.example.com/namesake'),
    feedDatabaseUrl: optional('FEED_DATABASE_URL', parseFeedUrl, 'postgres://namesake:password@replica.example.com/namesake'),
    baseUrl,
    portalUrl: required('PORTAL_URL', parseOrigin, baseUrl, 'https://portal.example.com'),
    edgeHost,
    edgeIps: required('EDGE_IPS', parseList(parseIpAddress), local ? ['127.0.0.1'] : [], '203.0.113.10,2001:db8::10'),
    apiAddr,
    internalAddr,
    httpAddr,
    httpsAddr,
    publicHttpPort: required('PUBLIC_HTTP_PORT', parsePort, httpAddr.port, '80'),
    publicHttpsPort: required('PUBLIC_HTTPS_PORT', parsePort, httpsAddr.port, '443'),
    edgeWorkers: required('EDGE_WORKERS', parseInteger(1, EDGE_WORKERS_MAX), availableParallelism(), '4'),
    edgeName: optional('EDGE_NAME', parseMachineName, 'paris-1'),
    edgeAddress: optional('EDGE_ADDRESS', parseReachableAddress(httpsAddr.port), '10.0.0.7:8443'),
    copyHostnamesMax: required('COPY_HOSTNAMES_MAX', parseCopyBound, 0, '100000'),
    upstreamSourceIps: required('UPSTREAM_SOURCE_IPS', parseList(parseIpAddress), [], '203.0.113.10'),
    acmeDirectories,
    acmeEmail: optional('ACME_EMAIL', parseMailAddress, 'ops@example.com'),
    acmeCaFile: optional('ACME_CA_FILE', (text) => parseReadableFile(resolve(cwd, text)), '/etc/namesake/acme-root.pem'),
    acmeProfile: optional('ACME_PROFILE', parseProfile, 'shortlived'),
    acmeEab: required(
      'ACME_EAB',
      parseList(parseEab),
      acmeDirectories.map(() => null),
      'my-key-id:bXkta2V5,-',
    ),
    dnsServers: required('DNS_SERVERS', parseList(parseDnsServer), [], '9.9.9.9,192.0.2.53:5353'),
    dnsZone: optional('DNS_ZONE', parseHost, 'acme.example.com'),
    dnsAddr: required('DNS_ADDR', parseAddress, { host: '0.0.0.0', port: 53 }, '0.0.0.0:53'),
    probeIntervalS: required('PROBE_INTERVAL_S', parseInteger(1, PROBE_INTERVAL_S_MAX), 300, '300'),
    plans: required('PLANS', parsePlans, DEFAULT_PLANS, 'free:100,pro:10000,unlimited:0'),
    signup: required('SIGNUP', parseChoice('open', 'invited'), 'open', 'invited'),
    projectRate: required('PROJECT_RATE', parseInteger(0, PROJECT_RATE_MAX), 0, '100'),
    smtpUrl: optional('SMTP_URL', parseSmtpUrl, 'smtps://user:password@mail.example.com'),
    mailFrom: optional('MAIL_FROM', parseMailAddress, 'Namesake <namesake@example.com>'),
    secrets: required('SECRET', parseList(parseSecret), [], SECRET_COMMAND),
    allowPrivateUpstreams: required('ALLOW_PRIVATE_UPSTREAMS', parseBoolean, local, 'false'),
    trustedProxies: required('TRUSTED_PROXIES', parseList(parseCidr), [], '10.0.0.0/8'),
    proxyProtocol: required('PROXY_PROTOCOL', parseChoice('off', 'required'), 'off', 'required'),
    edgeConnections: required('EDGE_CONNECTIONS', parseInteger(0, CONNECTIONS_MAX), 8_000, '8000'),
    clientConnections: required('CLIENT_CONNECTIONS', parseInteger(0, CONNECTIONS_MAX), 1_000, '1000'),
    bridgeMs: required('BRIDGE_MS', parseInteger(0, BRIDGE_MS_MAX), 10_000, '10000'),
    http2Engine: required('HTTP2_ENGINE', parseChoice('own', 'node'), 'own', 'own'),
    edgeRuntime: required('EDGE_RUNTIME', parseChoice('node', 'bun'), 'node', 'bun'),
    local,
    accessLogSample: required('ACCESS_LOG_SAMPLE', parseFraction, 1, '0.1'),
    logLevel: required('LOG_LEVEL', parseChoice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info', 'info'),
  }
  checkTogether(config, reading)
  if (reading.problems.length > 0) throw new ConfigError(reading.problems, reading.unknown())
  return { config: Object.freeze(config), warnings: [...reading.unknown(), ...unreadByLauncher(dotEnv, env), ...doubts(config)], dotEnv }
}

const DEFAULT_PLANS: ReadonlyMap<string, number> = new Map([
  ['free', 100],
  ['pro', 10_000],
  ['unlimited', 0],
])

// Shown in a message, these would end up in logs.
const CONFIDENTIAL = new Set(['SECRET', 'DATABASE_URL', 'FEED_DATABASE_URL', 'SMTP_URL', 'ACME_EAB'])

/** Collects what is wrong while the settings are read, so that one message can name it all. */
class Reading {
  readonly problems: string[] = []
  readonly #known = new Set(NO_SETTINGS)
  readonly #bad = new Set<string>()
  readonly #env: Env

  constructor(env: Env) {
    this.#env = env
  }

  readonly optional = <T>(name: string, parse: (text: string) => T, example: string): T | undefined => {
    return this.required<T | undefined>(name, parse, undefined, example)
  }

  readonly required = <T>(name: string, parse: (text: string) => T, fallback: T, example: string): T => {
    this.#known.add(`NAMESAKE_${name}`)
    const text = this.#env[`NAMESAKE_${name}`]?.trim()
    if (!text) return fallback
    try {
      return parse(text)
    } catch (error) {
      const open = text.replace(/\/\/.*@/, '//...@') // without the password that an address may hold
      const shown = CONFIDENTIAL.has(name) ? '' : `=${open.length > 80 ? `${open.slice(0, 77)}...` : open}`
      this.refuse(name, `${shown} ${(error as Error).message}`, example)
      return fallback
    }
  }

  readonly refuse = (name: string, problem: string, example: string): void => {
    this.#bad.add(name)
    this.problems.push(`NAMESAKE_${name}${problem}. Example: NAMESAKE_${name}=${example}`)
  }

  /** Whether the setting was refused already: its fallback is then not blamed for not fitting the rest. */
  readonly isBad = (name: string): boolean => this.#bad.has(name)

  #settings(): string[] {
    return [...this.#known].filter((name) => !NO_SETTINGS.includes(name))
  }

  unknown(): string[] {
    return Object.keys(this.#env)
      .filter((name) => name.startsWith('NAMESAKE_') && !this.#known.has(name))
      .map((name) => `${name} is not a setting and has no effect: did you mean ${nearestName(name, this.#settings())}?`)
  }
}

function checkTogether(config: Config, { refuse, isBad }: Reading): void {
  if (config.databaseUrl && config.secrets.length === 0 && !isBad('SECRET')) {
    refuse('SECRET', ' is required with NAMESAKE_DATABASE_URL: every machine on that database needs the same one', SECRET_COMMAND)
  }
  if (config.feedDatabaseUrl && !config.databaseUrl && !isBad('DATABASE_URL'))
    refuse(
      'FEED_DATABASE_URL',
      ' needs NAMESAKE_DATABASE_URL beside it: the embedded database has no standby',
      'postgres://replica.example.com/namesake',
    )
  const publicDirectory = config.acmeDirectories.find(isPublicDirectory)
  if (config.local && publicDirectory && !isBad('EDGE_HOST')) {
    refuse(
      'EDGE_HOST',
      `=${config.edgeHost} is local: ${new URL(publicDirectory).hostname} issues certificates for public names only`,
      'edge.example.com',
    )
  }
  if (config.acmeEab.length !== config.acmeDirectories.length && !isBad('ACME_EAB') && !isBad('ACME_DIRECTORY')) {
    const counts = `${config.acmeEab.length} entries for ${config.acmeDirectories.length} directories`
    refuse('ACME_EAB', ` has ${counts}: give one each, - where none is needed`, 'my-key-id:bXkta2V5,-')
  }
  if (config.edgeRuntime === 'bun' && config.http2Engine === 'node')
    refuse('HTTP2_ENGINE', '=node does not go with NAMESAKE_EDGE_RUNTIME=bun: its node:http2 does not carry every upload', 'own')
  if (config.smtpUrl && !config.mailFrom && !isBad('MAIL_FROM')) {
    refuse('MAIL_FROM', ' is required with NAMESAKE_SMTP_URL', 'Namesake <namesake@example.com>')
  }
  const { dnsZone } = config
  const [setting, inside] = Object.entries(publicHosts(config)).find(([, host]) => dnsZone && `.${host}`.endsWith(`.${dnsZone}`)) ?? []
  if (dnsZone && inside && !isBad('DNS_ZONE') && !isBad(setting!))
    refuse(
      'DNS_ZONE',
      `=${dnsZone} holds ${inside} (NAMESAKE_${setting}): give it a zone of its own, where nothing else is`,
      'acme.example.com',
    )
  refuseSameAddress(config, refuse)
}

function publicHosts({ edgeHost, baseUrl, portalUrl }: Config): Record<string, string> {
  return { EDGE_HOST: edgeHost, BASE_URL: baseUrl.hostname, PORTAL_URL: portalUrl.hostname }
}

function refuseSameAddress(config: Config, refuse: Reading['refuse']): void {
  const taken = new Map<string, Address>()
  const addresses = {
    API_ADDR: config.apiAddr,
    INTERNAL_ADDR: config.internalAddr,
    HTTP_ADDR: config.httpAddr,
    HTTPS_ADDR: config.httpsAddr,
    ...(config.dnsZone && { DNS_ADDR: config.dnsAddr }),
  }
  for (const [name, address] of Object.entries(addresses)) {
    const { host, port } = address
    const first = [...taken].find(([, other]) => meet(address, other))?.[0]
    if (first) refuse(name, `=${host}:${port} is the address of NAMESAKE_${first} too`, `${host}:${port === 65_535 ? port - 1 : port + 1}`)
    taken.set(name, address)
  }
}

function readDotEnv(cwd: string): Env {
  try {
    return parseEnv(readFileSync(resolve(cwd, '.env'), 'utf8'))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'EISDIR' || code === 'ENOTDIR') return {}
    throw new ConfigError([`${resolve(cwd, '.env')} cannot be read: ${code}. Example: chmod u+r .env`])
  }
}
