// Claims a second through registerDomain, beside pgbench running the same statement on the same server over as many connections (--connections N).
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CLAIM } from '../src/core/claims.ts'
import { closeDatabase, connectDatabase, type Db } from '../src/core/db.ts'
import { registerDomain } from '../src/core/domains.ts'
import { createProject, type Project } from '../src/core/projects.ts'
import { type Hostname, parseHostname } from '../src/hostname.ts'
import { createTemplate, type PostgresServer, sibling, startPostgres, TEMPLATE } from '../test/support/postgres-server.ts'
import { median, option } from './support/measure.ts'
import { beginMeasurement } from './support/results.ts'

const PGBENCH = '/usr/lib/postgresql/15/bin/pgbench'
const GATE = 0.5
const GOAL = 0.7
const ROUNDS = 5
const PLANS = new Map([['unlimited', 0]])
const RULES = { plans: PLANS, edgeHost: parseHostname('edge.bench.test'), edgeIps: [], reserved: new Set<string>(), wildcards: false }

const connections = option('connections', 16)
const roundS = Math.max(1, Math.floor(option('seconds', 30) / ROUNDS / 2))

const measurement = beginMeasurement('claim', {
  'connections N': 'over N connections, 16 by default',
  'seconds N': 'measure for about N seconds, 30 by default',
})
const server = await startPostgres({ durable: true })
try {
  await compare(server)
} finally {
  await server.stop()
}

async function compare(server: PostgresServer): Promise<void> {
  await createTemplate(server.adminUrl)
  const db = connectDatabase(sibling(server.adminUrl, TEMPLATE), { applicationName: 'bench', poolMax: connections })
  const folder = await mkdtemp(join(tmpdir(), 'namesake-bench-'))
  try {
    const wanted = { name: 'Bench', upstreamUrl: 'https://app.bench.test', plan: 'unlimited' }
    const project = await createProject(db, wanted, { plans: PLANS, checkUpstream: async () => {}, checkCnameTarget: async () => {} })
    const script = join(folder, 'claim.sql')
    await writeFile(script, pgbenchScript(project))
    await claimFor(db, project, 1) // connections made, code warm
    const ours: number[] = []
    const theirs: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      theirs.push(await pgbenchFor(server, script, roundS))
      ours.push(await claimFor(db, project, roundS))
    }
    report(ours, theirs)
  } finally {
    await closeDatabase(db)
    await rm(folder, { recursive: true })
  }
}

async function claimFor(db: Db, project: Project, seconds: number): Promise<number> {
  const started = performance.now()
  const until = started + seconds * 1_000
  let claimed = 0
  const client = async () => {
    while (performance.now() < until) {
      await registerDomain(db, project, { hostname: uniqueHostname(), metadataJson: '{}' }, RULES)
      claimed += 1
    }
  }
  await Promise.all(Array.from({ length: connections }, client))
  return claimed / ((performance.now() - started) / 1_000)
}

function uniqueHostname(): Hostname {
  return parseHostname(`h-${randomBytes(8).toString('hex')}.bench.test`)
}

function pgbenchScript(project: Project): string {
  const statement = CLAIM.replace('$1', project.id)
    .replace('$2', `'p-' || (:n)::text || '.bench.test'`)
    .replace('$3', `'{}'`)
    .replace('$4', `'{"kind":"operator"}'`)
  return `\\set n random(1, 9000000000000000)\n${statement.trim().replaceAll('\n', ' ')};\n`
}

async function pgbenchFor(server: PostgresServer, script: string, seconds: number): Promise<number> {
  const flags = ['-n', '-M', 'prepared', '-c', `${connections}`, '-j', '2', '-T', `${seconds}`, '-f', script]
  const child = spawn(PGBENCH, ['-h', server.socketDir, '-U', 'postgres', ...flags, TEMPLATE], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await once(child, 'close')
  const [, rate] = /^tps = ([\d.]+)/m.exec(output) ?? []
  if (!rate) throw new Error(`pgbench gave no figure: ${output}`)
  return Number(rate)
}

function report(ours: number[], theirs: number[]): void {
  const ratio = median(ours.map((rate, round) => rate / theirs[round]!))
  const row = (name: string, rates: number[], cell: string) => [name, Math.round(median(rates)).toLocaleString('en'), cell]
  const rows = [['', 'claims/s', 'ours ÷ theirs'], row('namesake, registerDomain', ours, ''), row('pgbench', theirs, ratio.toFixed(2))]
  measurement.publish({
    tables: [{ title: `${connections} connections, fsync on`, rows }],
    targets: [{ what: 'claims, × pgbench', reached: ratio, gate: GATE, goal: GOAL }],
    notes: [`${ROUNDS} rounds of ${roundS} s each, taking turns; medians, and the median of each round's ratio.`],
  })
}
