import { startVendorApp } from '../../examples/vendor-app/vendor-app.ts'
import type { RoleContext, RunningRole } from './role.ts'

/** The demo's upstream: the example vendor application, as any vendor would run it. */
export async function startDemoUpstream(context: RoleContext): Promise<RunningRole> {
  const stop = await startVendorApp(context)
  return { report: () => ({ ready: true, details: {} }), stop }
}
