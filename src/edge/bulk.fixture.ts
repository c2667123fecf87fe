import { Registry } from 'prom-client'
import { parseHostname } from '../hostname.ts'
import { LineBytes } from '../lib/line-bytes.ts'
import { createLog } from '../log.ts'
import { certificateText } from './certificate-text.ts'
import { startEdge } from './edge.ts'
import { createEdgeMetrics } from './metrics.ts'

export type BulkOrder = { hostname: string; upstreamUrl: string; chainPem: string; keyPem: string }

// An edge in a process of its own, with nothing in it that only tests need, so that its memory can be measured.
process.once('message', (order: BulkOrder) => void serve(order))

async function serve({ hostname: name, upstreamUrl, chainPem, keyPem }: BulkOrder): Promise<void> {
  const hostname = parseHostname(name)
  const line = new LineBytes(1_024)
  const loopback = [{ host: '127.0.0.1', port: 0 }]
  const edge = await startEdge({
    log: createLog('edge', 'error'),
    accessLog: { line, ended: () => void line.take() },
    metrics: createEdgeMetrics(new Registry()),
    listen: { http: loopback, https: loopback },
    publicHttpsPort: 443,
    edgeHost: parseHostname('edge.example.com'),
    findHost: () => ({ kind: 'route', route: { hostname, projectId: '1', projectSlug: 'one', upstreamUrl, verified: true } }),
    certificateFor: () => ({ kind: 'certificate', id: '1', ...certificateText({ chainPem, keyPem }) }),
    answerChallenge: () => undefined,
    challenges: { arePending: () => false, challengeFor: () => undefined },
    upstream: { allowPrivate: true, sourceIps: [], ownAddresses: [], isServedHere: () => false },
    trustedProxies: [],
    proxyProtocol: 'off',
    bridgeMs: 0,
    brandOf: () => undefined,
    http2Engine: process.env.TEST_HTTP2_ENGINE === 'node' ? 'node' : 'own',
    accessLogSample: 1,
    unverifiedVisit: () => {},
  })
  process.once('disconnect', () => void edge.stop(0))
  process.send?.(edge.ports.https[0])
}
