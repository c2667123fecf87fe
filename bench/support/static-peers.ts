import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Hostname } from '../../src/hostname.ts'
import type { Press } from './many-certificates.ts'
import { tree } from './measure.ts'
import { certifiedAt } from './population-names.ts'

export const PEERS = ['caddy', 'nginx', 'haproxy'] as const
export type PeerName = (typeof PEERS)[number]

/** A peer that was started with the certificates that lie in `dir`; it may not listen yet. */
export type StartedPeer = { processes(): number[]; hasEnded(): boolean; stop(): Promise<void> }

type Place = { dir: string; port: number; upstream: number }

/** Lays the certificates with these numbers where all three find them: one file each, with the key, and Caddy's storage as links to it. */
export function layCertificates(dir: string, press: Press, from: number, to: number): void {
  mkdirSync(join(dir, 'names'), { recursive: true })
  for (let n = from; n < to; n += 1) {
    const hostname = certifiedAt(n)
    const file = join(dir, 'names', `${hostname}.pem`)
    writeFileSync(file, `${press.print(hostname)}${press.keyPem}`)
    const stored = join(dir, 'storage', 'certificates', 'local', hostname)
    mkdirSync(stored, { recursive: true })
    linkSync(file, join(stored, `${hostname}.crt`))
    linkSync(file, join(stored, `${hostname}.key`))
    writeFileSync(join(stored, `${hostname}.json`), JSON.stringify({ sans: [hostname], issuer_data: null }))
  }
}

/** Starts one on any core, with one worker, for these hostnames. */
export function startStaticPeer(name: PeerName, place: Place, hostnames: readonly Hostname[]): StartedPeer {
  const command = { caddy, nginx, haproxy }[name](place, hostnames)
  const log = openSync(join(place.dir, `${name}.log`), 'a')
  const env = { ...process.env, HOME: place.dir, XDG_DATA_HOME: place.dir }
  const child = spawn(command[0]!, command.slice(1), { env, stdio: ['ignore', log, log] })
  let ended = false
  const exit = once(child, 'exit').finally(() => {
    ended = true
  })
  return {
    processes: () => tree(child.pid!),
    hasEnded: () => ended,
    async stop() {
      child.kill('SIGKILL') // loading a hundred thousand certificates, two of them do not hear SIGTERM
      await exit
    },
  }
}

/** On demand: it reads a certificate from its storage when somebody first comes for it. */
function caddy({ dir, port, upstream }: Place): string[] {
  const config = `{
    admin off
    skip_install_trust
    auto_https disable_redirects
    storage file_system ${dir}/storage
    on_demand_tls {
      ask http://127.0.0.1:${upstream}/
    }
  }
  https://:${port} {
    bind 127.0.0.1
    tls internal {
      on_demand
    }
    reverse_proxy 127.0.0.1:${upstream}
  }
  `
  writeFileSync(join(dir, 'Caddyfile'), config)
  return ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(dir, 'Caddyfile')]
}

function nginx({ dir, port, upstream }: Place, hostnames: readonly Hostname[]): string[] {
  const server = (hostname: Hostname) => `server {
    listen 127.0.0.1:${port} ssl;
    server_name ${hostname};
    ssl_certificate ${dir}/names/${hostname}.pem;
    ssl_certificate_key ${dir}/names/${hostname}.pem;
    location / { proxy_pass http://vendor; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; }
  }
  `
  const config = `daemon off;
  master_process off;
  pid ${dir}/nginx.pid;
  error_log ${dir}/nginx-error.log warn;
  events { worker_connections 4096; }
  http {
    access_log off;
    server_names_hash_max_size 1048576;
    server_names_hash_bucket_size 128;
    ssl_protocols TLSv1.2 TLSv1.3;
    upstream vendor { server 127.0.0.1:${upstream}; keepalive 64; }
    ${hostnames.map(server).join('')}
  }
  `
  writeFileSync(join(dir, 'nginx.conf'), config)
  return ['nginx', '-c', join(dir, 'nginx.conf')]
}

function haproxy({ dir, port, upstream }: Place, hostnames: readonly Hostname[]): string[] {
  writeFileSync(join(dir, 'names.list'), hostnames.map((hostname) => `${dir}/names/${hostname}.pem\n`).join(''))
  const config = `global
    nbthread 1
    maxconn 4096
    ssl-default-bind-ciphersuites TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256
  defaults
    mode http
    timeout connect 5s
    timeout client 75s
    timeout server 120s
    http-reuse always
  frontend visitors
    bind 127.0.0.1:${port} ssl crt-list ${dir}/names.list strict-sni
    default_backend vendor
  backend vendor
    server vendor 127.0.0.1:${upstream} maxconn 256
  `
  writeFileSync(join(dir, 'haproxy.cfg'), `${config.trimEnd()}\n`) // it insists on the end of the last line
  return ['haproxy', '-db', '-f', join(dir, 'haproxy.cfg')]
}
