import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Peer = { name: string; pid: number; port: number; stop(): Promise<void> }

/** What a peer's configuration file is filled in with. */
export type Blanks = { dir: string; port: number; upstream: number; hostname: string; body: string }

const PEERS = {
  upstream: { file: 'upstream.conf', command: (path: string) => ['nginx', '-c', path] },
  nginx: { file: 'nginx.conf', command: (path: string) => ['nginx', '-c', path] },
  haproxy: { file: 'haproxy.cfg', command: (path: string) => ['haproxy', '-db', '-f', path] },
  caddy: { file: 'Caddyfile', command: (path: string) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', path] },
}

/** Starts Debian's nginx, HAProxy or Caddy with its configuration of bench/peers, on one core. */
export async function startPeer(name: keyof typeof PEERS, core: number, blanks: Blanks): Promise<Peer> {
  const { file, command } = PEERS[name]
  const template = readFileSync(fileURLToPath(new URL(`../peers/${file}`, import.meta.url)), 'utf8')
  const path = join(blanks.dir, `${name}-${file}`)
  writeFileSync(
    path,
    template.replace(/\{(dir|port|upstream|hostname|body)\}/g, (_, key: keyof Blanks) => String(blanks[key])),
  )
  const env = { ...process.env, HOME: blanks.dir, XDG_DATA_HOME: blanks.dir, GOMAXPROCS: '1' }
  const child = spawn('taskset', ['-c', String(core), ...command(path)], { env, stdio: ['ignore', 'ignore', 'ignore'] })
  const port = name === 'upstream' ? blanks.upstream : blanks.port
  await untilListening(child, name, port)
  return { name, pid: child.pid!, port, stop: () => stop(child) }
}

/** A self-signed P-256 certificate in `dir`, as cert.pem, key.pem and both.pem. */
export function makeCertificate(dir: string, hostname: string): void {
  const subject = ['-subj', `/CN=${hostname}`, '-addext', `subjectAltName=DNS:${hostname}`]
  const files = ['-keyout', join(dir, 'key.pem'), '-out', join(dir, 'cert.pem')]
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30', ...subject, ...files],
    {
      stdio: 'ignore',
    },
  )
  writeFileSync(join(dir, 'both.pem'), readFileSync(join(dir, 'cert.pem'), 'utf8') + readFileSync(join(dir, 'key.pem'), 'utf8'))
}

async function untilListening(child: ChildProcess, name: string, port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}: is it installed? apt-get install ${name}`)
    if (await canConnect(port)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
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

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })
}
