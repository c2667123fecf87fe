import { join } from 'node:path'
import { styleText } from 'node:util'
import type { Address, Config } from './config.ts'
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
    edge: { host: config.edgeHost, http: write(config.httpAddr), https: write(config.httpsAddr), processes: config.edgeWorkers },
    ...(demo ? { demo: { ...demo, project: 'demo', url: demoUrl(config), caFile: join(dataDir, 'ca.pem') } } : {}),
  }
}

/** What runs where, for a person; in demo mode with a `curl` line that works as it stands. */
export function startScreen(running: Running, colours: boolean): string[] {
  const { config, roles, dataDir, demo } = running
  const bold = (text: string) => (colours ? styleText('bold', text, { validateStream: false }) : text)
  const line = (label: string, text: string, more = '') => `  ${bold(label.padEnd(LABEL_WIDTH))}${text}${more && `  (${more})`}`
  const lines = ['', `${bold('Namesake is running.')} Ctrl-C stops it.`, '']

  if (roles.includes('api')) {
    lines.push(line('API', shown(config.baseUrl), `listens on ${write(config.apiAddr)}, reference at ${shown(config.baseUrl)}/v1/docs`))
    lines.push(line('Portal', shown(config.portalUrl)))
  }
  if (roles.includes('edge')) {
    const count = config.edgeWorkers === 1 ? 'one process' : `${config.edgeWorkers} processes`
    lines.push(
      line(
        'Edge',
        `https on ${write(config.httpsAddr)}, http on ${write(config.httpAddr)}`,
        `${count}; customers point their CNAME at ${config.edgeHost}`,
      ),
    )
  }
  if (roles.includes('worker')) lines.push(line('Worker', 'DNS checks, certificates', certificatesFrom(config)))
  lines.push(line('Internal', `http://${write(config.internalAddr)}`, '/ready, /metrics'))
  lines.push(line('Database', databaseShown(running)))
  lines.push(line('Data', dataDir, config.dataDir === dataDir ? '' : `${config.dataDir} lies where only root can enter, and links to it`))
  if (demo) {
    lines.push('')
    lines.push(line('Demo', `the project demo holds hello.localhost`, `its application answers at ${demo.upstream}`))
    lines.push(line('Token', demo.token, `kept in ${join(dataDir, 'demo-token')}`))
    lines.push('', 'Try it:', `  curl --cacert ${quoted(join(dataDir, 'ca.pem'))} ${demoUrl(config)}`)
  }
  return [...lines, '']
}

function demoUrl({ publicHttpsPort }: Config): string {
  return `https://hello.localhost${publicHttpsPort === 443 ? '' : `:${publicHttpsPort}`}/`
}

function certificatesFrom({ acmeDirectories }: Config): string {
  const names = acmeDirectories.map((directory) => (directory === 'local' ? 'the built-in authority' : new URL(directory).hostname))
  return `from ${names.join(', else ')}`
}

function databaseShown({ config, database, dataDir }: Running): string {
  if (database === 'external') return `PostgreSQL at ${new URL(config.databaseUrl!.replace(/@\//, '@localhost/')).host}`
  return `PostgreSQL of its own, in ${join(dataDir, 'postgres')}${database === 'adopted' ? ', running since an earlier start' : ''}`
}

function shown(url: URL): string {
  return url.href.replace(/\/$/, '')
}

function write({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function quoted(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
