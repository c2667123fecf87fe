import { Resolver } from 'node:dns/promises'
import { BoundSocket, isIPv4, isIPv6 } from 'node:net'
import { createSend } from '../certs/acme-http.ts'
import type { Config } from '../config.ts'
import { databaseHost } from '../config-values.ts'
import { closeDatabase, connectDatabase, type Db } from '../core/db.ts'
import { CREATE_EDGE_ROLE, EDGE_ROLE, findEdgeRole } from '../core/edge-role.ts'
import { locateData } from '../data-directory.ts'
import { findAllocator } from '../edge/allocator.ts'
import { tryMailServer } from '../jobs/mail-server.ts'
import { explainConnection } from '../lib/connection-trouble.ts'
import { explainUnbound } from '../listening-sockets.ts'
import { ownCommand } from '../own-command.ts'
import { findPortHolders, isTakenOnIpv6 } from '../port-holder.ts'
import { runsScript } from '../program-folder.ts'
import { defaultRoles, type Role, wantedSockets } from '../role-tree.ts'
import { doubtMail } from '../roles/mailing.ts'
import { findServiceUser } from '../service-user.ts'
import { findSupervisor } from '../start-lock.ts'
import { MAIN_SCRIPT } from '../supervisor.ts'
import { readRecord } from '../supervisor-record.ts'
import { doubtSources } from '../upstream-sources.ts'
import { explained, locate } from './installation.ts'

/** One thing that was looked at, and what to do about it if it is not good. */
export type Check = { name: string; state: 'good' | 'doubtful' | 'bad'; sentence: string }

const POSTGRES_MAJOR_MIN = 15
const DIRECTORY_TIMEOUT_MS = 10_000
const DNS = { timeout: 2_000, tries: 2 }
const NO_RECORD = new Set(['ENODATA', 'ENOTFOUND'])

/** Whether the database answers and is new enough. An embedded one that does not run is no fault: the start brings it. */
export async function checkDatabase(config: Config): Promise<Check[]> {
  const name = 'database'
  let url: string
  try {
    url = locate(config).databaseUrl!
  } catch (error) {
    return [{ name, state: 'doubtful', sentence: (error as Error).message }]
  }
  const db = connectDatabase(url, { applicationName: 'namesake doctor', poolMax: 1 })
  try {
    const { rows } = await db.pool.query<{ server_version: string }>('show server_version')
    const version = rows[0]!.server_version
    if (Number.parseInt(version, 10) >= POSTGRES_MAJOR_MIN)
      return [
        { name, state: 'good', sentence: `${config.databaseUrl ? '' : 'embedded '}PostgreSQL ${version} answers` },
        ...(config.databaseUrl ? await checkEdgeRole(db) : []),
      ]
    return [{ name, state: 'bad', sentence: `PostgreSQL ${version} is too old: ${POSTGRES_MAJOR_MIN} or newer is needed` }]
  } catch (error) {
    return [
      {
        name,
        state: 'bad',
        sentence: `${databaseHost(url)} cannot be used: ${messageOf(error)}. Look at NAMESAKE_DATABASE_URL and at the server`,
      },
    ]
  } finally {
    await closeDatabase(db)
  }
}

/** Whether an edge machine of this database can be given a login with fewer rights. That is not asked of an empty one: the first start makes the group. */
async function checkEdgeRole(db: Db): Promise<Check[]> {
  const found = await findEdgeRole(db)
  if (found === 'stands') return []
  if (found === 'unmade')
    return [
      { name: 'database', state: 'good', sentence: 'it has no tables of Namesake yet: the first machine with api or worker makes them' },
    ]
  const sentence =
    found === 'ungranted'
      ? `the group ${EDGE_ROLE} has no rights here yet, as after a restore: the next start with api or worker grants them, as does ${ownCommand()} migrate`
      : `there is no group ${EDGE_ROLE}, so edge machines need a login that may do everything: as an administrator, ${CREATE_EDGE_ROLE} then ${ownCommand()} migrate`
  return [{ name: 'edge role', state: 'doubtful', sentence }]
}

/** Whether each address of the roles that run here is in the hands of a running namesake, or free where none runs. */
export async function checkPorts(config: Config): Promise<Check[]> {
  const supervisor = findSupervisor(locateData(config.dataDir, findServiceUser()))
  return wantedSockets({ config, roles: rolesHere(config), demo: false })
    .filter(({ boundByRole }) => !boundByRole)
    .map((wanted) => {
      const { variable, address } = wanted
      const name = 'ports'
      const where = `${address.host}:${address.port} (${variable})`
      try {
        new BoundSocket(address).close()
        if (!supervisor) return { name, state: 'good', sentence: `${where} is free` }
        const sentence = `${where} is free, and what runs here (process ${supervisor.pid}) listens elsewhere: a restart takes it there`
        return { name, state: 'doubtful', sentence }
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code
        if (code !== 'EADDRINUSE' && code !== 'EACCES') return { name, state: 'bad', sentence: explainUnbound(wanted, code) }
        const holders = findPortHolders(address.port)
        if (holders.some(({ pid }) => runsScript(pid, MAIN_SCRIPT)))
          return { name, state: 'good', sentence: `${where} is served by namesake` }
        if (code === 'EACCES') {
          const sentence = `${where} may be bound by root only: fine where systemd hands it over, or root does the start; else set ${variable} to another`
          return { name, state: 'doubtful', sentence }
        }
        const who = holders[0] ? `${holders[0].name} (process ${holders[0].pid})` : 'a process that this user cannot see'
        return { name, state: 'bad', sentence: `${where} is held by ${who}: stop it, or set ${variable} to another` }
      }
    })
}

/** Whether visitors who come to the IPv6 addresses that the edge has are listened to. */
export function checkIpv6(config: Config): Check[] {
  const { edgeIps, httpAddr, httpsAddr, dnsAddr, local, proxyProtocol } = config
  const ip = edgeIps.find((one) => isIPv6(one))
  if (!ip || local || proxyProtocol === 'required') return []
  const roles = rolesHere(config)
  const listening = [
    ...(roles.includes('edge')
      ? ([
          ['NAMESAKE_HTTP_ADDR', httpAddr],
          ['NAMESAKE_HTTPS_ADDR', httpsAddr],
        ] as const)
      : []),
    ...(roles.includes('dns') ? ([['NAMESAKE_DNS_ADDR', dnsAddr]] as const) : []),
  ]
  const deaf = listening.filter(([, { host, port }]) => isIPv4(host) && !isTakenOnIpv6(port))
  return deaf.map(([variable, { host, port }]) => ({
    name: 'ports',
    state: 'doubtful',
    sentence: `${host}:${port} (${variable}) takes no IPv6, and NAMESAKE_EDGE_IPS has ${ip}: fine where something in front takes it; else set ${variable}=[::]:${port}, which takes both`,
  }))
}

/** What the supervisor of this installation says that it runs; without one, what a start would. */
export function rolesHere(config: Config): readonly Role[] {
  const dataDir = locateData(config.dataDir, findServiceUser())
  const supervisor = findSupervisor(dataDir)
  return (supervisor && readRecord(dataDir, supervisor)?.roles) ?? defaultRoles(config)
}

/** Whether people can sign in: there is a mail server, and, where it is this machine that sends, it answers. */
export async function checkMail(config: Config): Promise<Check[]> {
  const name = 'mail'
  const roles = rolesHere(config)
  if (config.smtpUrl === undefined || !roles.includes('worker'))
    return doubtMail(config, roles).map((sentence) => ({ name, state: 'doubtful', sentence }))
  const { place, trouble } = await tryMailServer(config.smtpUrl)
  if (trouble === undefined) return [{ name, state: 'good', sentence: `${place} answers` }]
  return [{ name, state: 'bad', sentence: `${place} cannot be used: ${trouble}. Look at NAMESAKE_SMTP_URL and at the server` }]
}

/** Whether this machine has the addresses from which it is to connect to upstreams. */
export function checkSources(config: Config): Check[] {
  const roles = rolesHere(config)
  const state = roles.includes('edge') ? 'bad' : 'doubtful' // without an edge no visit fails for it
  return doubtSources(config, roles).map((sentence) => ({ name: 'upstreams', state, sentence }))
}

/** Whether edge processes find the allocator that they would rather have. */
export function checkAllocator({ edgeRuntime, local }: Config): Check[] {
  if (edgeRuntime !== 'node') return []
  const name = 'memory'
  const file = findAllocator()
  if (file !== undefined) return [{ name, state: 'good', sentence: `edge processes allocate with ${file}` }]
  const sentence =
    'edge processes allocate with the C library, which costs them processor time and memory once they have had thousands of visitors: install jemalloc (on Debian: apt install libjemalloc2) and start anew'
  return [{ name, state: local ? 'good' : 'doubtful', sentence }]
}

/** Whether the edge host leads to the edge's addresses, and its CAA records, which govern every customer's name that is an alias of it. */
export async function checkEdgeDns(config: Config): Promise<Check[]> {
  if (config.local) return [{ name: 'DNS', state: 'good', sentence: `${config.edgeHost} is local: it needs no DNS` }]
  const resolver = new Resolver(DNS)
  if (config.dnsServers.length > 0) resolver.setServers(config.dnsServers)
  return Promise.all([
    addressesOf(resolver, config.edgeHost).then((found) => judgeAddresses(config, found), unseen('DNS')),
    caaOf(resolver, config.edgeHost).then((found) => judgeCaa(config, found), unseen('CAA')),
  ])
}

/** What stands in the place of a check that could not be made: neither that all is well, nor that anything is wrong. */
function unseen(name: string): (error: unknown) => Check {
  return (error) => ({ name, state: 'doubtful', sentence: `this could not be looked at: ${messageOf(explained(error))}` })
}

/**
 * What `look` finds in the database of this installation; nothing where there is no way to one, which the check of the database says. One that cannot
 * be looked at is doubted under this name, unless it has no tables yet.
 */
export async function lookInDatabase(
  config: Config,
  name: string,
  look: (db: Db, installation: Config) => Promise<Check[]>,
): Promise<Check[]> {
  let installation: Config
  try {
    installation = locate(config)
  } catch {
    return []
  }
  const db = connectDatabase(installation.databaseUrl!, { applicationName: 'namesake doctor', poolMax: 1 })
  try {
    return await look(db, installation)
  } catch (error) {
    const isUnmade = (await findEdgeRole(db).catch(() => undefined)) === 'unmade'
    return isUnmade ? [] : [unseen(name)(error)]
  } finally {
    await closeDatabase(db)
  }
}

/** Whether each ACME directory answers as one. */
export async function checkAuthorities(config: Config): Promise<Check[]> {
  const send = createSend({ ...(config.acmeCaFile ? { caFile: config.acmeCaFile } : {}), now: () => new Date() })
  return Promise.all(
    config.acmeDirectories.map(async (url): Promise<Check> => {
      const name = 'authority'
      if (url === 'local')
        return { name, state: 'good', sentence: `the built-in one: whoever is to trust it imports what ${ownCommand()} ca prints` }
      try {
        const { status, body } = await send({ method: 'GET', url }, AbortSignal.timeout(DIRECTORY_TIMEOUT_MS))
        if (status === 200 && typeof body === 'object' && body !== null && 'newOrder' in body)
          return { name, state: 'good', sentence: `${url} answers` }
        return { name, state: 'bad', sentence: `${url} is no ACME directory (status ${status}): look at NAMESAKE_ACME_DIRECTORY` }
      } catch (error) {
        return {
          name,
          state: 'bad',
          sentence: `${url} cannot be reached: ${messageOf(error)}. Look at NAMESAKE_ACME_DIRECTORY, NAMESAKE_ACME_CA_FILE and the way out to the Internet`,
        }
      }
    }),
  )
}

function judgeAddresses({ edgeHost, edgeIps }: Config, found: string[]): Check {
  const name = 'DNS'
  if (found.length === 0) {
    return {
      name,
      state: 'bad',
      sentence: `${edgeHost} has no address: add A/AAAA records for it${edgeIps.length > 0 ? ` (${edgeIps.join(', ')})` : ''}`,
    }
  }
  if (edgeIps.length === 0)
    return {
      name,
      state: 'doubtful',
      sentence: `${edgeHost} leads to ${found.join(', ')}: set NAMESAKE_EDGE_IPS to them, so that apex domains work`,
    }
  const missing = edgeIps.filter((ip) => !found.includes(ip))
  const foreign = found.filter((ip) => !edgeIps.includes(ip))
  if (missing.length === 0 && foreign.length === 0) return { name, state: 'good', sentence: `${edgeHost} leads to ${found.join(', ')}` }
  const parts = [
    missing.length > 0 ? `lacks ${missing.join(', ')}` : '',
    foreign.length > 0 ? `has ${foreign.join(', ')}, which NAMESAKE_EDGE_IPS does not name` : '',
  ]
  return { name, state: 'bad', sentence: `${edgeHost} ${parts.filter(Boolean).join(' and ')}` }
}

type CaaRecords = { at: string; issuers: string[] } | undefined

function judgeCaa({ edgeHost, acmeDirectories }: Config, caa: CaaRecords): Check {
  const name = 'CAA'
  if (!caa) return { name, state: 'good', sentence: `no CAA record limits who may issue for names that point at ${edgeHost}` }
  const directories = acmeDirectories.filter((directory) => directory !== 'local').map((directory) => new URL(directory).hostname)
  const named = (host: string) => caa.issuers.some((issuer) => host === issuer || host.endsWith(`.${issuer}`))
  if (directories.every(named)) return { name, state: 'good', sentence: `the CAA records of ${caa.at} allow ${caa.issuers.join(', ')}` }
  const allowed = caa.issuers.join(', ') || 'nobody'
  return {
    name,
    state: 'doubtful',
    sentence: `the CAA records of ${caa.at} allow ${allowed}: make sure that this names the operator of ${directories.join(', ')}, for they govern every customer's name that is an alias of ${edgeHost}`,
  }
}

async function addressesOf(resolver: Resolver, host: string): Promise<string[]> {
  const found = await Promise.all([resolver.resolve4(host).catch(noRecords), resolver.resolve6(host).catch(noRecords)])
  return found.flat()
}

/** The CAA records that count for a name: its own, else its nearest parent's (RFC 8659 §3). */
async function caaOf(resolver: Resolver, host: string): Promise<CaaRecords> {
  for (let name = host; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
    const records = await resolver.resolveCaa(name).catch(noRecords)
    const issuers = records.flatMap(({ issue }) => (issue === undefined ? [] : [issue.split(';')[0]!.trim()])).filter(Boolean)
    if (records.length > 0) return records.some(({ issue }) => issue !== undefined) ? { at: name, issuers } : undefined
  }
  return undefined
}

/** An answer that there is none; not of a resolver that gave no answer. */
function noRecords(error: NodeJS.ErrnoException): never[] {
  if (NO_RECORD.has(error.code ?? '')) return []
  throw error
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? explainConnection(error) || String((error as NodeJS.ErrnoException).code) : String(error)
}
