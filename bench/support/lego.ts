import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Debian's lego with a folder of its own for its account and certificates. */
export type Lego = {
  /** Orders one certificate as its users do, one process each; resolves when it is on disk. `address` is where it answers HTTP-01. */
  run(hostname: string, address: string): Promise<void>
  stop(): void
}

export type LegoOptions = { directoryUrl: string; caFile: string; httpPort: number }

export function createLego({ directoryUrl, caFile, httpPort }: LegoOptions): Lego {
  const folder = mkdtempSync(join(tmpdir(), 'namesake-bench-lego-'))
  return {
    async run(hostname, address) {
      const account = ['--server', directoryUrl, '--email', 'bench@example.com', '--accept-tos', '--path', folder]
      const args = [...account, '--domains', hostname, '--http', '--http.port', `${address}:${httpPort}`, 'run']
      const child = spawn('lego', args, {
        env: { PATH: process.env.PATH, LEGO_CA_CERTIFICATES: caFile },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let output = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
      const [code] = (await once(child, 'close')) as [number | null]
      if (code !== 0 || !existsSync(join(folder, 'certificates', `${hostname}.crt`))) throw new Error(`lego ended with ${code}: ${output}`)
    },
    stop: () => rmSync(folder, { recursive: true, force: true }),
  }
}
