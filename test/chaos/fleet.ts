import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../support/tree.ts'
import { type Api, call, show } from './claims.ts'
import { DATABASE_PORT, type Databases, startDatabases } from './database.ts'
import { expectedBody } from './expected-body.ts'
import { makeFolders } from './folders.ts'
import type { Known } from './load.ts'
import { createMachine, EDGES, type EdgeName, HTTP_PORT, HTTPS_PORT, type Machine, type MachineName } from './machines.ts'
import { createNamespaces } from './namespaces.ts'
import type { Network } from './network.ts'
import { type Program, runToEnd } from './processes.ts'
import { createRelays } from './relays.ts'
import { DNS_PORT, EDGE_HOST, nameAuthority, type Project, startSurroundings } from './surroundings.ts'
import { visitHttp1 } from './visits.ts'

/** The whole: machines, what they lean on, and the hostnames that are served before anything goes wrong. */
export type Fleet = {
  network: Network
  databases: Databases
  machines: Record<MachineName, Machine>
  root: string
  projects: Project[]
  known: Known[]
  /** Each API with the token of a project. */
  apisOf(slug: string): Api[]
  addressOf(edge: EdgeName): string
  /** The application of `SHY`, which a fault may take away. */
  shyUpstream: { program(): Program; start(): Promise<void> }
  stop(): Promise<void>
}

/** `logs`: where the programs' output is kept; else it goes with the rest. */
export type FleetParts = { lab: 'own' | 'shared'; logs?: string; progress(what: string): void }

const MACHINES: readonly MachineName[] = ['api1', 'api2', 'worker1', 'worker2', ...EDGES]
/** Their clocks can be moved. */
const OWN_CLOCKS: readonly MachineName[] = ['api2', 'worker2', 'edge2']
/** Its files are on a small disk of its own. */
export const SMALL_DISK: EdgeName = 'edge3'
const SMALL_DISK_SIZE = '64m'
const SHOPS = ['amber', 'birch', 'coral', 'shy']
/** The project whose application may go away for a while. */
export const SHY = 'shy'
/** The project of the vendors that claim without end; its hostnames are never visited. */
export const CLAIMANT = 'claimant'
const HOSTNAMES_A_PROJECT = 10
const SERVED_TIMEOUT_MS = 150_000 // on a busy machine a first order may come to nothing, and the next one is a minute later
const SECRET = 'the secret of the fleet is longer than 32 bytes'

/** Starts everything and waits until every known hostname is served by every edge. What was started is ended when that fails. */
export async function startFleet(parts: FleetParts): Promise<Fleet> {
  const undo = new AsyncDisposableStack()
  try {
    return await start(parts, undo)
  } catch (error) {
    await undo.disposeAsync()
    throw error
  }
}

async function start({ lab, logs, progress }: FleetParts, undo: AsyncDisposableStack): Promise<Fleet> {
  const folders = await makeFolders(lab, logs, undo)
  const { home } = folders
  progress('the network')
  const network = lab === 'own' ? await createNamespaces() : createRelays()
  undo.defer(() => network.close())
  progress('DNS, the certificate authority, the applications')
  if (lab === 'own') await nameAuthority(network, folders)
  const surroundings = await startSurroundings(network, folders, SHOPS)
  undo.defer(() => surroundings.stop())
  let shy = await surroundings.startShyUpstream()
  progress('PostgreSQL: a primary and a synchronous standby')
  const databases = await startDatabases(network, folders)
  undo.defer(() => databases.stop())

  if (lab === 'own') {
    mkdirSync(join(home, SMALL_DISK))
    await runToEnd(['mount', '-t', 'tmpfs', '-o', `size=${SMALL_DISK_SIZE},mode=0755`, 'tmpfs', join(home, SMALL_DISK)])
    undo.defer(async () => void (await runToEnd(['umount', '--lazy', join(home, SMALL_DISK)])))
  }
  const machines = {} as Record<MachineName, Machine>
  for (const name of MACHINES) {
    const env = { ...common(network, surroundings.authority), NAMESAKE_DATABASE_URL: await databaseUrl(network, name) }
    machines[name] = createMachine({ name, network, folders, env, ownClock: OWN_CLOCKS.includes(name) })
    undo.defer(async () => machines[name].program()?.stop())
  }
  progress('the machines')
  machines.api1.start()
  await machines.api1.untilReady() // it migrates
  const rest = MACHINES.filter((name) => name !== 'api1')
  for (const name of rest) machines[name].start()
  await Promise.all(rest.map((name) => machines[name].untilReady()))

  progress('projects')
  const tokens = new Map<string, string>()
  for (const { slug, upstreamUrl } of [...surroundings.projects, { slug: CLAIMANT, upstreamUrl: surroundings.projects[0]!.upstreamUrl }]) {
    await machines.api1.command('projects', 'create', '--name', slug, '--slug', slug, '--upstream', upstreamUrl)
    const { token } = await machines.api1.command<{ token: string }>('tokens', 'issue', '--project', slug)
    tokens.set(slug, token)
  }
  const fleet: Fleet = {
    ...{ network, databases, machines, root: surroundings.root, projects: surroundings.projects, known: [] },
    apisOf: (slug) => [machines.api1, machines.api2].map(({ apiUrl: url }) => ({ url, token: tokens.get(slug)! })),
    addressOf: (edge) => machines[edge].address,
    shyUpstream: {
      program: () => shy,
      async start() {
        shy = await surroundings.startShyUpstream()
      },
    },
    stop: () => undo.disposeAsync(),
  }
  progress('hostnames and their certificates')
  await claimKnown(fleet)
  return fleet
}

async function claimKnown(fleet: Fleet): Promise<void> {
  for (const { slug } of fleet.projects) {
    const api = fleet.apisOf(slug)[0]!
    for (let i = 0; i < HOSTNAMES_A_PROJECT; i++) {
      const hostname = `www.${slug}-${i}.test` // each below a registered domain of its own, as customers' are
      const status = await call(api, 'POST', '/v1/edge/domains', { hostname })
      if (status !== 200) throw new Error(`${hostname} could not be claimed: ${status}`)
      fleet.known.push({ hostname, project: slug })
    }
  }
  await Promise.all(
    EDGES.map(async (edge) => {
      for (const one of fleet.known) {
        await eventually(() => isServed(fleet, edge, one), SERVED_TIMEOUT_MS, 100).catch(async (error) => {
          const [api] = fleet.apisOf(one.project)
          throw new Error(`${edge} does not serve ${one.hostname}: ${await show(api!, one.hostname)}`, { cause: error })
        })
      }
    }),
  )
}

/** Whether the edge answers for the hostname with its own project's application. */
export async function isServed(fleet: Fleet, edge: EdgeName, { hostname, project }: Known): Promise<boolean> {
  const path = '/is-served'
  const { status, body } = await visitHttp1({ address: fleet.addressOf(edge), hostname, root: fleet.root }, path)
  return status === 200 && body === expectedBody(project, hostname, path)
}

async function databaseUrl(network: Network, from: MachineName): Promise<string> {
  const ways = [await network.way(from, 'db1', DATABASE_PORT), await network.way(from, 'db2', DATABASE_PORT)]
  const hosts = ways.map(({ host, port }) => `${host}:${port}`).join(',')
  return `postgres://postgres@${hosts}/namesake?target_session_attrs=read-write`
}

function common(network: Network, authority: { directoryUrl: string; caFile: string }): Record<string, string> {
  const directory = new URL(authority.directoryUrl)
  if (network.kind === 'namespaces') directory.hostname = 'ca.localhost'
  return {
    NAMESAKE_SECRET: SECRET,
    NAMESAKE_EDGE_HOST: EDGE_HOST,
    NAMESAKE_EDGE_IPS: EDGES.map(network.addressOf).join(','),
    NAMESAKE_BASE_URL: 'https://api.namesake-chaos.test',
    NAMESAKE_EDGE_WORKERS: '1',
    NAMESAKE_DNS_SERVERS: `${network.addressOf('names')}:${DNS_PORT}`,
    NAMESAKE_ACME_DIRECTORY: directory.href,
    NAMESAKE_ACME_CA_FILE: authority.caFile,
    NAMESAKE_ALLOW_PRIVATE_UPSTREAMS: 'true',
    NAMESAKE_PUBLIC_HTTP_PORT: String(HTTP_PORT),
    NAMESAKE_PUBLIC_HTTPS_PORT: String(HTTPS_PORT),
    NAMESAKE_ACCESS_LOG_SAMPLE: '0',
    NAMESAKE_CLIENT_CONNECTIONS: '0', // all visitors come from one address
  }
}
