import { join } from 'node:path'
import { styleText } from 'node:util'
import type { Address, Config } from './config.ts'
import { databaseHost } from './config-values.ts'
import { shellWord } from './lib/shell-word.ts'
import { ownCommand } from './own-command.ts'
import type { Role } from './role-tree.ts'

/** What runs, once all of it does. */
export type Running = {
  config: Config
  roles: readonly Role[]
  dataDir: string
  /** Whether the database is our own, and if so whether it was running already. */
  database: 'started' | 'adopted' | 'external'
  demo: { token: string; upstream: string } | undefined
}

const LABEL_WIDTH = 10

/** What runs where, for a program. */
export function startFacts({ config, roles, dataDir, database, demo }: Running) {
  return {
    roles,
    dataDir,
    database,
    apiUrl: shown(config.baseUrl),
    portalUrl: shown(config.portalUrl),
    internalUrl: `http://${write(config.internalAddr)}`,
    ...(roles.includes('dns') ? { dns: { zone: config.dnsZone, address: write(config.dnsAddr) } } : {}),
    edge: { host: config.edgeHost, http: write(config.httpAddr), https: write(config.httpsAddr), processes: config.edgeWorkers },
    ...(demo ? { demo: { ...demo, project: 'demo', url: demoUrl(config), caFile: join(dataDir, 'ca.pem') } } : {}),
  }
}

/** What runs where, for a person, within 100 columns as far as paths allow; in demo mode with commands that work as they stand. */
export function startScreen(running: Running, colours: boolean): string[] {
  const { config, roles, dataDir, demo } = running
  const bold = (text: string) => (colours ? styleText('bold', text, { validateStream: false }) : text)
  const entry = (label: string, ...texts: string[]) =>
    texts.map((text, i) => `  ${i === 0 ? bold(label.padEnd(LABEL_WIDTH)) : ' '.repeat(LABEL_WIDTH)}${text}`)
  const lines = ['', `${bold('Namesake is running.')} Ctrl-C stops it.`, '']

  if (roles.includes('api')) {
    lines.push(...entry('Portal', shown(config.portalUrl)))
    lines.push(...entry('API', shown(config.baseUrl) + listeningOn(config), `reference at ${shown(config.baseUrl)}/v1/docs`))
  }
  if (roles.includes('edge')) {
    const count = config.edgeWorkers === 1 ? 'one process' : `${config.edgeWorkers} processes`
    const ports = `https on ${write(config.httpsAddr)}, http on ${write(config.httpAddr)}, ${count}`
    lines.push(...entry('Edge', ports, `customers point their CNAME at ${config.edgeHost}`))
  }
  if (roles.includes('worker')) lines.push(...entry('Worker', `DNS checks, and certificates ${certificatesFrom(config)}`))
  if (roles.includes('dns')) lines.push(...entry('DNS', `${config.dnsZone} on ${write(config.dnsAddr)}, UDP and TCP`))
  lines.push(...entry('Internal', `http://${write(config.internalAddr)}/ready and /metrics`))
  lines.push(...entry('Database', databaseShown(running)))
  lines.push(
    ...entry('Data', dataDir, ...(config.dataDir === dataDir ? [] : [`only root can enter ${config.dataDir}, so that links to it`])),
  )
  if (demo) lines.push('', ...demoEntries(running, demo, entry))
  return [...lines, '']
}

type Demo = NonNullable<Running['demo']>

function demoEntries({ config, dataDir }: Running, demo: Demo, entry: (label: string, ...texts: string[]) => string[]): string[] {
  return [
    ...entry('Demo', 'the project demo, which holds hello.localhost', `its application answers at ${demo.upstream}`),
    ...entry('Token', demo.token, `kept in ${join(dataDir, 'demo-token')}`),
    ...['', 'Try it:', `  curl --cacert ${shellWord(join(dataDir, 'ca.pem'))} ${demoUrl(config)}`],
    ...['', 'Then claim a hostname of your own:', `  ${ownCommand()} domains add --project demo shop.localhost`],
  ]
}

/** Where the API listens, when its public address does not say so. */
function listeningOn({ baseUrl, apiAddr }: Config): string {
  const obvious = ['localhost', '127.0.0.1', apiAddr.host].includes(baseUrl.hostname) && baseUrl.port === String(apiAddr.port)
  return obvious ? '' : `, listens on ${write(apiAddr)}`
}

function demoUrl({ publicHttpsPort }: Config): string {
  return `https://hello.localhost${publicHttpsPort === 443 ? '' : `:${publicHttpsPort}`}/`
}

function certificatesFrom({ acmeDirectories }: Config): string {
  const names = acmeDirectories.map((directory) => (directory === 'local' ? 'the built-in authority' : new URL(directory).hostname))
  return `from ${names.join(', else ')}`
}

function databaseShown({ config, database }: Running): string {
  if (database === 'external') return `PostgreSQL at ${databaseHost(config.databaseUrl!)}`
  return `embedded PostgreSQL${database === 'adopted' ? ', running since an earlier start' : ''}`
}

function shown(url: URL): string {
  return url.href.replace(/\/$/, '')
}

function write({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
