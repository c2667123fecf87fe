import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemPath } from '../install.ts'
import { freePorts } from './ports.ts'

/** A request as nginx understood it, in the order in which they ended. */
export type NginxSeen = { status: number; method: string; target: string; host: string; bytes: number }

export type Nginx = {
  url: string
  /** The requests so far. nginx writes a line when a request has ended, a moment after its answer has left. */
  seen(): NginxSeen[]
  stop(): Promise<void>
}

const START_MS_MAX = 10_000

/** Debian's nginx on a free loopback port before the application on that port: one more reader of HTTP, which counts what it reads. */
export async function startNginx(applicationPort: number): Promise<Nginx> {
  const [port] = (await freePorts(1)) as [number]
  const dir = mkdtempSync(join(tmpdir(), 'namesake-nginx-'))
  chmodSync(dir, 0o755) // its worker gives up root
  const file = join(dir, 'nginx.conf')
  writeFileSync(file, configuration(dir, port, applicationPort))
  const log = openSync(join(dir, 'error.log'), 'a')
  const child = spawn('nginx', ['-p', dir, '-c', file], {
    env: { ...process.env, PATH: systemPath(process.env.PATH) },
    stdio: ['ignore', log, log],
  })
  await untilListening(child, port).catch((error: Error) => {
    child.kill('SIGKILL')
    throw new Error(`${error.message}\n${readFileSync(join(dir, 'error.log'), 'utf8').slice(-1_000)}`)
  })
  const accessLog = join(dir, 'access.log')
  return {
    url: `http://127.0.0.1:${port}`,
    seen: () => (existsSync(accessLog) ? readFileSync(accessLog, 'utf8').split('\n').filter(Boolean).map(readLine) : []),
    async stop() {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await exited
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function configuration(dir: string, port: number, applicationPort: number): string {
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const line = '$status\\t$request_method\\t$request_uri\\t$http_host\\t$request_length'
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${dir}/${kind};`).join(' ')
  return `daemon off; ${user} worker_processes 1; pid ${dir}/nginx.pid; error_log stderr crit;
events { worker_connections 1024; }
http {
  log_format seen "${line}";
  access_log ${dir}/access.log seen;
  ${temporary}
  underscores_in_headers on; ignore_invalid_headers off; merge_slashes off;
  large_client_header_buffers 8 64k; client_max_body_size 0; keepalive_requests 10000000;
  upstream application { server 127.0.0.1:${applicationPort}; keepalive 32; keepalive_requests 10000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://application;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
    }
  }
}
`
}

function readLine(line: string): NginxSeen {
  const [status, method = '', target = '', host = '', bytes] = line.split('\t')
  return { status: Number(status), method, target, host, bytes: Number(bytes) }
}

async function untilListening(child: ChildProcess, port: number): Promise<void> {
  const endsAt = performance.now() + START_MS_MAX
  while (performance.now() < endsAt) {
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}: is it installed? apt-get install nginx`)
    if (await canConnect(port)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`nginx does not listen on ${port}`)
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
