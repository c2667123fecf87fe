import { type ChildProcess, spawn } from 'node:child_process'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onCore } from './cores.ts'
import { pause, tree } from './measure.ts'

/** A proxy under measurement. `processes` are all that its work is done by. */
export type Peer = { name: string; port: number; processes(): number[] }

type Started = Peer & { stop(): Promise<void> }

/** What a peer's configuration file is filled in with. */
export type Blanks = { dir: string; port: number; upstream: number; body: string; zone?: string; echo?: number }

const nginx = (path: string) => ['nginx', '-c', path]
const haproxy = (path: string) => ['haproxy', '-db', '-f', path]
const caddy = (path: string) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', path]

const PEERS: Record<string, { file: string; command(path: string): string[]; env?: Record<string, string> }> = {
  upstream: { file: 'upstream.conf', command: nginx },
  nginx: { file: 'nginx.conf', command: nginx },
  'nginx-tuned': { file: 'nginx-tuned.conf', command: nginx },
  haproxy: { file: 'haproxy.cfg', command: haproxy },
  'haproxy-tuned': { file: 'haproxy-tuned.cfg', command: haproxy },
  caddy: { file: 'Caddyfile', command: caddy },
  'caddy-tuned': { file: 'Caddyfile-tuned', command: caddy, env: { GOGC: '400' } },
}
const LISTEN_TIMEOUT_MS = 60_000 // Caddy reads 10,000 certificates first
const FILES_MAX = 20_000 // descriptors a proxy may hold

/** Starts Debian's nginx, HAProxy or Caddy with its configuration of bench/peers, on one core. */
export async function startPeer(name: string, core: number, blanks: Blanks): Promise<Started> {
  const { file, command, env: own } = PEERS[name]!
  const template = readFileSync(fileURLToPath(new URL(`../peers/${file}`, import.meta.url)), 'utf8')
  const path = join(blanks.dir, `${name}-${file}`)
  writeFileSync(
    path,
    template.replace(/\{(dir|port|upstream|body|zone|echo|files)\}/g, (_, key: keyof Blanks | 'files') =>
      String({ ...blanks, files: FILES_MAX }[key]),
    ),
  )
  const env = { ...process.env, HOME: blanks.dir, XDG_DATA_HOME: blanks.dir, GOMAXPROCS: '1', ...own }
  const logFile = join(blanks.dir, `${name}.log`)
  const log = openSync(logFile, 'a')
  const child = spawn(...onCore(core, command(path)), { env, stdio: ['ignore', log, log] })
  const port = name === 'upstream' ? blanks.upstream : blanks.port
  await untilListening(child, name, port).catch((error: Error) => {
    child.kill()
    throw new Error(`${error.message}\n${readFileSync(logFile, 'utf8').slice(-1_000)}`)
  })
  return { name, port, processes: () => tree(child.pid!), stop: () => stop(child) }
}

/** Puts a certificate into `dir` where the peers' configurations expect it. */
export function layCertificate(dir: string, { chainPem, keyPem }: { chainPem: string; keyPem: string }): void {
  writeFileSync(join(dir, 'cert.pem'), chainPem)
  writeFileSync(join(dir, 'key.pem'), keyPem)
  writeFileSync(join(dir, 'both.pem'), `${chainPem}\n${keyPem}`)
}

async function untilListening(child: ChildProcess, name: string, port: number): Promise<void> {
  for (const deadline = performance.now() + LISTEN_TIMEOUT_MS; performance.now() < deadline; ) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}: is it installed? apt-get install ${name}`)
    if (await canConnect(port)) return
    await pause(50)
  }
  throw new Error(`${name} does not listen on ${port}`)
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })
}
