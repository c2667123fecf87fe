import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { freePorts } from '../../test/support/ports.ts'
import { eventually } from '../../test/support/tree.ts'
import { BROWSER_CIPHERS, BROWSERS_FIRST } from '../support/browser-ciphers.ts'
import { createBulkAuthority } from '../support/bulk-certificates.ts'
import { LOAD_CORE, MEASURED_CORE, onCore } from '../support/cores.ts'
import { nameAt } from '../support/numbered-names.ts'
import { layCertificate, type Peer, startPeer } from '../support/peers.ts'
import { type Counters, readCounters } from './counters.ts'
import { startService, VARIANTS } from './ours.ts'
import { BODY, FILES, HOT, NAMES_WITH_CERTIFICATE, type Place, SOCKETS, ZONE } from './place.ts'

const ECHO = fileURLToPath(new URL('../support/echo-server.ts', import.meta.url))
const PEERS = ['nginx', 'haproxy', 'caddy', 'nginx-tuned', 'haproxy-tuned', 'caddy-tuned']

export type Wanted = { variants: readonly string[]; peers: readonly string[]; names: number }
export type Proxies = { all: readonly Peer[]; counters: Counters }

/**
 * The upstreams on the core of loads; on the measured one each wanted variant of ours and each wanted peer, shown to answer as the upstream does.
 * `undo` stops them all.
 */
export async function startProxies(place: Place, wanted: Wanted, undo: AsyncDisposableStack): Promise<Proxies> {
  const [upstream, echo, ...ports] = (await freePorts(2 + PEERS.length)) as [number, number, ...number[]]
  const blanks = { dir: place.dir, upstream, echo, body: BODY, zone: ZONE }
  undo.defer((await startPeer('upstream', LOAD_CORE, { ...blanks, port: 0 })).stop)
  undo.defer(await startEcho(echo))

  console.log(
    `Making certificates for ${NAMES_WITH_CERTIFICATE.toLocaleString('en')} hostnames, and claiming ${wanted.names.toLocaleString('en')}`,
  )
  const { hot, many, sockets } = await makeCertificates(place)
  const service = await startService([
    { slug: 'bench', upstreamUrl: `http://127.0.0.1:${upstream}`, first: HOT, count: wanted.names, certificates: [hot, ...many] },
    { slug: 'sockets', upstreamUrl: `http://127.0.0.1:${echo}`, first: SOCKETS, count: 1, certificates: [sockets] },
  ])
  undo.defer(service.stop)
  const all: Peer[] = []
  for (const variant of VARIANTS.filter(({ name }) => wanted.variants.includes(name))) {
    const edge = await service.startEdge(variant)
    undo.defer(edge.stop)
    console.log(`${variant.name} is ready after ${(edge.readyMs / 1_000).toFixed(1)} s, having copied all hostnames`)
    all.push(edge)
  }
  for (const [i, name] of PEERS.entries()) {
    if (!wanted.peers.includes(name)) continue
    const peer = await startPeer(name, MEASURED_CORE, { ...blanks, port: ports[i]! })
    undo.defer(peer.stop)
    all.push(peer)
  }
  for (const proxy of all) {
    requireUpstreamsAnswers(proxy, place)
    await requireBrowsersCipher(proxy)
  }
  return { all, counters: readCounters(upstream, echo) }
}

/** The hot name's certificate covers the zone and is all that nginx and HAProxy have; Caddy has one for each name, as ours. */
async function makeCertificates({ dir }: Place) {
  const authority = await createBulkAuthority()
  writeFileSync(join(dir, 'ca.pem'), authority.ca)
  const hot = await authority.issue(HOT, [`*.${ZONE}`])
  const sockets = await authority.issue(SOCKETS)
  const many = await authority.issueMany(Array.from({ length: NAMES_WITH_CERTIFICATE - 1 }, (_, i) => nameAt(ZONE, i + 1)))
  layCertificate(dir, hot)
  const folder = join(dir, 'certificates')
  mkdirSync(folder)
  for (const { hostname, chainPem, keyPem } of [hot, ...many]) writeFileSync(join(folder, `${hostname}.pem`), chainPem + keyPem)
  return { hot, many, sockets }
}

async function startEcho(port: number): Promise<() => Promise<void>> {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', ECHO, String(port)]
  const child = spawn(...onCore(LOAD_CORE, command), { stdio: 'ignore' })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await eventually(async () => (await fetch(`http://127.0.0.1:${port}/counted-here`)).ok)
  return () => {
    child.kill('SIGTERM')
    return exited
  }
}

function requireUpstreamsAnswers({ name, port }: Peer, { dir, filesDir }: Place): void {
  const ask = (version: string, path: string, ...options: string[]) => {
    const trust = ['--cacert', join(dir, 'ca.pem'), '--resolve', `${HOT}:${port}:127.0.0.1`]
    return execFileSync('curl', ['-sf', version, ...trust, ...options, `https://${HOT}:${port}${path}`], { encoding: 'utf8' })
  }
  for (const version of ['--http1.1', '--http2']) {
    const answers = [ask(version, '/'), ask(version, '/upload', '--data-binary', `@${join(filesDir, '1m')}`)]
    const wrong = answers.find((body) => body !== BODY)
    if (wrong !== undefined) throw new Error(`${name} does not pass on the upstream's answer: ${wrong.slice(0, 200)}`)
    for (const [file, bytes] of Object.entries(FILES)) {
      if (ask(version, `/files/${file}`).length !== bytes)
        throw new Error(`${name} does not pass on the upstream's file ${file} over ${version}`)
    }
  }
}

/** All are to pay for the same one. */
async function requireBrowsersCipher({ name, port }: Peer): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port, servername: HOT, rejectUnauthorized: false, ciphers: BROWSER_CIPHERS })
  await once(socket, 'secureConnect')
  const { standardName } = socket.getCipher()
  socket.destroy()
  if (standardName !== BROWSERS_FIRST) throw new Error(`${name} encrypts by ${standardName}, not by ${BROWSERS_FIRST}`)
}
