import { readdirSync } from 'node:fs'
import { startTestEdge } from '../../test/support/edge.ts'

/** What the parent says to an edge that it watches, and what the edge says of itself. */
export type SoakOrder = { kind: 'report' } | { kind: 'collect' }
export type SoakReport = {
  httpsPort: number
  caPem: string
  /** Requests, connections and tunnels that are open. */
  open: number
  upstreamConnections: number
  descriptors: number
  rssBytes: number
  heapBytes: number
}

const [upstreamUrl = '', ...hostnames] = process.argv.slice(2)
const edge = await startTestEdge({ http2Engine: 'own', accessLogSample: 0, timeouts: { requestHeadMs: 10_000, keepAliveMs: 20_000 } })
for (const hostname of hostnames) await edge.route(hostname, upstreamUrl)

process.on('message', (order: SoakOrder) => {
  if (order.kind === 'collect') globalThis.gc?.()
  void report().then((now) => process.send!(now))
})
process.on('disconnect', () => process.exit())
process.send!(await report())

async function report(): Promise<SoakReport> {
  const { http1Connections, http2Connections, exchanges, tunnels, upstream } = await edge.report()
  const { rss, heapUsed } = process.memoryUsage()
  return {
    httpsPort: edge.httpsPort,
    caPem: edge.ca.certPem,
    open: http1Connections + http2Connections + exchanges + tunnels,
    upstreamConnections: upstream.connections,
    descriptors: readdirSync('/proc/self/fd').length,
    rssBytes: rss,
    heapBytes: heapUsed,
  }
}
