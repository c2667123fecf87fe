import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startVendorApp } from '../../examples/vendor-app/vendor-app.ts'
import type { RoleContext, RunningRole } from './role.ts'

/** The demo's upstream: the example vendor application, as any vendor would run it. */
export async function startDemoUpstream({ config, listen }: RoleContext): Promise<RunningRole> {
  const { host, port } = config.apiAddr
  const api = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const { stop } = await startVendorApp({
    port: listen.demo as { fd: number },
    api,
    token: readFileSync(join(config.dataDir, 'demo-token'), 'utf8').trim(),
  })
  return { report: () => ({ ready: true, details: {} }), stop }
}
