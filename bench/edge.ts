// Processor time of the proxy per request, ours beside Debian's nginx, HAProxy and Caddy: the proxy on one core, load and upstream on the other.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually, freePorts, startTree, type Tree } from '../test/support/tree.ts'
import { median, option, tree as processes, processorUs, table } from './support/measure.ts'
import { makeCertificate, type Peer, startPeer } from './support/peers.ts'

const HOSTNAME = 'bench.localhost'
const PROXY_CORE = 0
const LOAD_CORE = 1
const ROUNDS = option('rounds', 5)
const SECONDS = option('seconds', 3)

const SHAPES = [
  { name: 'HTTP/1.1, 64 connections', load: ['--h1', '-c', '64'] },
  { name: 'HTTP/2, 16 connections × 8 streams', load: ['-c', '16', '-m', '8'] },
  { name: 'HTTP/2, 64 connections × 1 stream', load: ['-c', '64', '-m', '1'] },
]

const dir = mkdtempSync(join(tmpdir(), 'namesake-bench-'))
const [upstreamPort, nginxPort, haproxyPort, caddyPort] = (await freePorts(4)) as [number, number, number, number]
makeCertificate(dir, HOSTNAME)
const blanks = { dir, upstream: upstreamPort, hostname: HOSTNAME, body: 'x'.repeat(700) }
const upstream = await startPeer('upstream', LOAD_CORE, { ...blanks, port: 0 })
const tree = await startTree({ env: { NAMESAKE_EDGE_WORKERS: '1' } })
const peers: Peer[] = [
  await startOurs(tree),
  await startPeer('nginx', PROXY_CORE, { ...blanks, port: nginxPort }),
  await startPeer('haproxy', PROXY_CORE, { ...blanks, port: haproxyPort }),
  await startPeer('caddy', PROXY_CORE, { ...blanks, port: caddyPort }),
]

try {
  for (const shape of SHAPES) {
    const costs = new Map(peers.map((peer) => [peer.name, [] as number[]]))
    for (let round = 0; round < ROUNDS; round++)
      for (const peer of peers) costs.get(peer.name)!.push(microsecondsPerRequest(peer, shape.load))
    report(shape.name, costs)
  }
} finally {
  for (const peer of peers.slice(1)) await peer.stop()
  await upstream.stop()
  await tree.stop()
  rmSync(dir, { recursive: true, force: true })
}

async function startOurs(ours: Tree): Promise<Peer> {
  await ours.command('projects', 'create', '--name', 'Bench', '--slug', 'bench', '--upstream', `http://127.0.0.1:${upstreamPort}`)
  await ours.command('domains', 'add', HOSTNAME, '--project', 'bench')
  const url = `https://${HOSTNAME}:${ours.httpsPort}/`
  await eventually(() => spawnSync('curl', ['-sfk', '-o', '/dev/null', url]).status === 0, 20_000, 200)
  const pid = processes(ours.process.pid!).find((one) => readFileSync(`/proc/${one}/cmdline`, 'utf8').includes('main.ts\0edge'))!
  execFileSync('taskset', ['-a', '-cp', String(PROXY_CORE), String(pid)])
  return { name: 'namesake', pid, port: ours.httpsPort, stop: async () => {} }
}

function microsecondsPerRequest(peer: Peer, load: string[]): number {
  const before = processorUs(peer.pid)
  const target = ['--connect-to', `127.0.0.1:${peer.port}`, '-D', String(SECONDS), `https://${HOSTNAME}:${peer.port}/`]
  const output = execFileSync('taskset', ['-c', String(LOAD_CORE), 'h2load', ...load, ...target], { encoding: 'utf8' })
  const done = Number(/(\d+) succeeded/.exec(output)?.[1])
  const bad = Number(/(\d+) 5xx/.exec(output)?.[1])
  if (!done || bad) throw new Error(`${peer.name} did not answer properly:\n${output}`)
  return (processorUs(peer.pid) - before) / done
}

function report(shape: string, costs: ReadonlyMap<string, number[]>): void {
  const ours = costs.get('namesake')!
  const rows = [...costs].map(([name, values]) => {
    const ratio = median(values.map((value, round) => ours[round]! / value))
    return [name, median(values).toFixed(1), name === 'namesake' ? '' : ratio.toFixed(2)]
  })
  console.log(`\n${shape}, 700-byte answers\n${table([['proxy', 'µs a request', 'ours ÷ theirs'], ...rows])}`)
}
