import { Gauge, type Registry } from 'prom-client'
import { readBudgets, readWaiting } from '../core/budget-report.ts'
import { readCertificateHealth } from '../core/certificate-health.ts'
import { countCertificates } from '../core/certificates.ts'
import type { Db } from '../core/db.ts'

/** How certificates and limits stand in the whole installation, as every worker reads it from the database: their gauges agree. */
export function createIssuanceMetrics(db: Db, directories: readonly string[], registry: Registry): { refresh(): Promise<void> } {
  const gauge = <L extends string>(of: { name: string; help: string; labelNames: L[] }) =>
    new Gauge({ ...of, registers: [registry], aggregator: 'max' })
  const states = gauge({ name: 'namesake_certificates', help: 'Hostnames by the state of their certificate', labelNames: ['state'] })
  const expiring = gauge({
    name: 'namesake_certificates_expiring',
    help: 'Certificates in service that end within so long, or have ended',
    labelNames: ['within'],
  })
  const soonest = gauge({
    name: 'namesake_certificates_soonest_end_seconds',
    help: 'Time until the next end of a certificate in service',
    labelNames: ['origin'],
  })
  const overdue = gauge({ name: 'namesake_certificates_overdue', help: 'Certificates that should have been renewed', labelNames: [] })
  const stopped = gauge({ name: 'namesake_certificates_stopped', help: 'Certificates not renewed any more, as DNS left', labelNames: [] })
  const waiting = gauge({
    name: 'namesake_issuance_waiting',
    help: "Hostnames that wait for room within an authority's limit",
    labelNames: ['limit'],
  })
  const room = gauge({
    name: 'namesake_issuance_account_room',
    help: "Orders left within the account's limit of a directory",
    labelNames: ['directory', 'for'],
  })

  return {
    async refresh() {
      const [counts, health, waits, budgets] = await Promise.all([
        countCertificates(db),
        readCertificateHealth(db),
        readWaiting(db),
        readBudgets(db, directories),
      ])
      for (const one of [states, waiting, soonest]) one.reset()
      for (const { state, count } of counts) states.set({ state }, count)
      for (const { withinDays, count } of health.expiring) expiring.set({ within: `${withinDays}d` }, count)
      overdue.set(health.overdue)
      stopped.set(health.stopped)
      for (const { origin, endsInS } of health.soonest) soonest.set({ origin }, endsInS)
      for (const { limit, hostnames } of waits) waiting.set({ limit }, hostnames)
      for (const { directory, account } of budgets) {
        if (!account) continue
        room.set({ directory, for: 'new' }, Math.max(0, account.forNew - account.used))
        room.set({ directory, for: 'renewals' }, Math.max(0, account.max - account.used))
      }
    },
  }
}
