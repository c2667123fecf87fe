import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../core/db.ts'
import { countEdges, pruneEdges } from '../core/edges.ts'

/** Keeps the list of edges short, and shows how many of them are heard. While the database is away the figures stay as they were. */
export function createEdgeCounts(db: Db, registry: Registry): { refresh(): Promise<void> } {
  const gauge = new Gauge({
    name: 'namesake_edges',
    help: 'Edge machines of the last day by whether they are heard',
    labelNames: ['state'],
    registers: [registry],
    aggregator: 'max',
  })
  return {
    async refresh() {
      await pruneEdges(db)
      const { fresh, silent } = await countEdges(db)
      gauge.set({ state: 'fresh' }, fresh)
      gauge.set({ state: 'silent' }, silent)
    },
  }
}
