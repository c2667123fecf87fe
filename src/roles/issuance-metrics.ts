import { Gauge, type Registry } from 'prom-client'
import { readBudgets, readWaiting } from '../core/budget-report.ts'
import { readCertificateHealth } from '../core/certificate-health.ts'
import { countCertificates } from '../core/certificates.ts'
import type { Db } from '../core/db.ts'

/** How certificates and limits stand in the whole installation, as every worker reads it from the database: their gauges agree. */
export function createIssuanceMetrics(db: Db, directories: readonly string[], registry: Registry): { refresh(): Promise<void> } {
  const gauge = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Gauge({ name, help, labelNames, registers: [registry], aggregator: 'max' })
  const states = gauge('namesake_certificates', 'Hostnames by the state of their certificate', ['state'])
  const expiring = gauge('namesake_certificates_expiring', 'Certificates in service that end within so long, or have ended', ['within'])
  const overdue = gauge('namesake_certificates_overdue', 'Certificates that should have been renewed', [])
  const stopped = gauge('namesake_certificates_stopped', 'Certificates that are not renewed any more, since DNS left', [])
  const soonest = gauge('namesake_certificate_soonest_end_seconds', 'Until the next end of a certificate in service', [])
  const waiting = gauge('namesake_issuance_waiting', "Hostnames that wait for room within an authority's limit", ['limit'])
  const room = gauge('namesake_issuance_account_room', "Orders left within the account's limit of a directory", ['directory', 'for'])

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
      if (health.soonestEndS !== null) soonest.set(health.soonestEndS)
      for (const { limit, hostnames } of waits) waiting.set({ limit }, hostnames)
      for (const { directory, account } of budgets) {
        if (!account) continue
        room.set({ directory, for: 'new' }, Math.max(0, account.forNew - account.used))
        room.set({ directory, for: 'renewals' }, Math.max(0, account.max - account.used))
      }
    },
  }
}
