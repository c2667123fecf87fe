import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Pebble, startPebble } from '../support/pebble.ts'
import { eventually } from '../support/tree.ts'
import type { Folders } from './folders.ts'
import { EDGES, HTTP_PORT, HTTPS_PORT } from './machines.ts'
import type { Network } from './network.ts'
import { type Program, runToEnd, startProgram } from './processes.ts'

export const DNS_PORT = 5353
export const EDGE_HOST = 'edge.test'
const FIRST_UPSTREAM_PORT = 9_001
const READY_TIMEOUT_MS = 15_000

export type Project = { slug: string; upstreamUrl: string; port: number }

/** What the fleet leans on and is not part of it. */
export type Surroundings = {
  authority: Pebble
  /** The roots of what it issues, PEM. */
  root: string
  projects: Project[]
  /** The last project's application, which runs alone. */
  startShyUpstream(): Promise<Program>
  stop(): Promise<void>
}

/** DNS (every name below `.test` leads to the edges, but for those below `absent.test`, which do not exist), a certificate authority, the applications. */
export async function startSurroundings(network: Network, folders: Folders, slugs: readonly string[]): Promise<Surroundings> {
  const names = startNames(network, folders)
  const authority = await startPebble({
    httpPort: HTTP_PORT,
    tlsPort: HTTPS_PORT,
    dnsServer: `${network.addressOf('names')}:${DNS_PORT}`,
    place: { address: network.addressOf('authority'), within: network.within('authority') },
  })
  const address = network.addressOf('upstreams')
  const projects = slugs.map((slug, i) => ({
    slug,
    port: FIRST_UPSTREAM_PORT + i,
    upstreamUrl: `http://${address}:${FIRST_UPSTREAM_PORT + i}`,
  }))
  const script = fileURLToPath(new URL('upstreams.fixture.ts', import.meta.url))
  const startUpstreams = async (served: readonly Project[]): Promise<Program> => {
    const words = served.map(({ slug, port }) => `${slug}:${port}`)
    const command = [...network.within('upstreams'), process.execPath, '--disable-warning=ExperimentalWarning', script, address, ...words]
    const program = startProgram(command, { logFile: join(folders.logs, 'upstreams.log') })
    await eventually(async () => (await fetch(`${served[0]!.upstreamUrl}/`)).ok, READY_TIMEOUT_MS)
    return program
  }
  const crowd = await startUpstreams(projects.slice(0, -1))
  let shy: Program | undefined
  const startShyUpstream = async () => {
    shy = await startUpstreams(projects.slice(-1))
    return shy
  }
  return {
    authority,
    root: await authority.rootPem(),
    projects,
    startShyUpstream,
    async stop() {
      await Promise.all([authority.stop(), crowd.stop('SIGKILL'), shy?.stop('SIGKILL'), names.stop()])
    },
  }
}

function startNames(network: Network, { home, logs }: Folders): Program {
  const address = network.addressOf('names')
  const edges = EDGES.map((edge) => `edge A ${network.addressOf(edge)}`)
  const zone = ['$ORIGIN test.', '$TTL 30', '@ SOA names.test. nobody.test. 1 3600 900 86400 5', '@ NS names', `names A ${address}`]
  writeFileSync(join(home, 'test.zone'), [...zone, ...edges, '* CNAME edge', 'absent TXT nothing', ''].join('\n'))
  const server = [
    `ip-address: ${address}@${DNS_PORT}`,
    'username: ""',
    'database: ""',
    `zonesdir: "${home}"`,
    'pidfile: ""',
    `xfrdfile: "${home}/xfrd"`,
  ]
  const settings = [
    'server:',
    ...[...server, 'server-count: 1', 'rrl-ratelimit: 0'].map((line) => `  ${line}`),
    'remote-control:',
    '  control-enable: no',
  ]
  writeFileSync(join(home, 'nsd.conf'), [...settings, 'zone:', '  name: test', '  zonefile: test.zone', ''].join('\n'))
  return startProgram([...network.within('names'), 'nsd', '-d', '-c', join(home, 'nsd.conf')], { logFile: join(logs, 'names.log') })
}

/** Makes `ca.localhost`, by which Namesake knows an authority without limits, lead to ours: in this run's own mounts alone. */
export async function nameAuthority(network: Network, { home }: Folders): Promise<void> {
  const file = join(home, 'hosts')
  writeFileSync(file, `127.0.0.1 localhost\n${network.addressOf('authority')} ca.localhost\n`)
  await runToEnd(['mount', '--bind', file, '/etc/hosts'])
}
