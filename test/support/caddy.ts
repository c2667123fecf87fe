import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { freePorts } from './ports.ts'

export type Caddy = {
  /** What a visitor of the hostname gets over HTTPS; rejects when Caddy refuses the handshake. */
  visit(hostname: string): Promise<string>
  stop(): Promise<void>
}

const START_TIMEOUT_MS = 15_000

/** Debian's Caddy, which asks `askUrl` before it makes a certificate (its own internal issuer) for a name it has not seen. */
export async function startCaddy(askUrl: string): Promise<Caddy> {
  const folder = await mkdtemp(join(tmpdir(), 'namesake-caddy-'))
  const [httpPort, httpsPort] = (await freePorts(2)) as [number, number]
  const config = `{
    admin off
    skip_install_trust
    auto_https disable_redirects
    http_port ${httpPort}
    https_port ${httpsPort}
    storage file_system ${folder}
    on_demand_tls {
      ask ${askUrl}
    }
  }
  https:// {
    bind 127.0.0.1
    tls internal {
      on_demand
    }
    respond "served {host}"
  }
  `
  await writeFile(join(folder, 'Caddyfile'), config)
  const arguments_ = ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile']
  const caddy = spawn('caddy', arguments_, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, HOME: folder } })
  const { promise: serving, resolve, reject } = Promise.withResolvers<void>()
  const deadline = setTimeout(() => reject(new Error(`caddy did not start: ${output}`)), START_TIMEOUT_MS)
  let output = ''
  caddy.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
    if (output.includes('serving initial configuration')) resolve()
  })
  caddy.once('error', reject)
  caddy.once('exit', () => reject(new Error(`caddy ended: ${output}`)))
  await serving.finally(() => clearTimeout(deadline))
  return {
    visit: (hostname) => visit(hostname, httpsPort),
    async stop() {
      const exited = once(caddy, 'exit')
      caddy.kill()
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function visit(hostname: string, port: number): Promise<string> {
  const sent = request({
    host: '127.0.0.1',
    port,
    servername: hostname,
    headers: { host: hostname },
    rejectUnauthorized: false,
    agent: false,
  })
  sent.end()
  const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage]
  return text(response)
}
