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

// Claims a second (in --seconds N, over --connections N) through registerDomain, beside pgbench running the same statement against the same server with as many connections.

const PGBENCH = '/usr/lib/postgresql/15/bin/pgbench'
const GATE = 0.5
const GOAL = 0.7
const ROUNDS = 5
const PLANS = new Map([['unlimited', 0]])
const RULES = { plans: PLANS, edgeHost: parseHostname('edge.bench.test'), reserved: new Set<string>() }

const connections = option('connections', 16)
const roundS = Math.max(1, Math.floor(option('seconds', 30) / ROUNDS / 2))

const server = await startPostgres({ durable: true })
try {
  process.exitCode = await compare(server)
} finally {
  await server.stop()
}

async function compare(server: PostgresServer): Promise<number> {
  await createTemplate(server.adminUrl)
  const db = connectDatabase(sibling(server.adminUrl, TEMPLATE), { applicationName: 'bench', poolMax: connections })
  const folder = await mkdtemp(join(tmpdir(), 'namesake-bench-'))
  try {
    const wanted = { name: 'Bench', upstreamUrl: 'https://app.bench.test', plan: 'unlimited' }
    const project = await createProject(db, wanted, { plans: PLANS, checkUpstream: async () => {} })
    const script = join(folder, 'claim.sql')
    await writeFile(script, pgbenchScript(project))
    await claimFor(db, project, 1) // connections made, code warm
    const ours: number[] = []
    const theirs: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      theirs.push(await pgbenchFor(server, script, roundS))
      ours.push(await claimFor(db, project, roundS))
    }
    return report(median(ours), median(theirs))
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
  const statement = CLAIM.replace('$1', project.id).replace('$2', `'p-' || (:n)::text || '.bench.test'`).replace('$3', `'{}'`)
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

function report(ours: number, theirs: number): number {
  const ratio = ours / theirs
  const verdict = ratio >= GOAL ? 'goal met' : ratio >= GATE ? 'gate passed, goal not met' : 'GATE FAILED'
  console.log(
    `claim: ${Math.round(ours)}/s, pgbench: ${Math.round(theirs)}/s, ratio ${ratio.toFixed(2)} (gate ${GATE}, goal ${GOAL}): ${verdict}`,
  )
  console.log(`${ROUNDS} rounds of ${roundS} s each, taking turns, ${connections} connections, medians, fsync on`)
  return ratio >= GATE ? 0 : 1
}
