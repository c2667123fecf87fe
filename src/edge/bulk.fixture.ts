import { startTestEdge } from '../../test/support/edge.ts'

// An edge in a process of its own, so that its memory can be measured. Its parent names the upstream.
const [hostname = '', upstreamUrl = ''] = process.argv.slice(2)
const edge = await startTestEdge()
await edge.route(hostname, upstreamUrl)
process.send?.({ port: edge.httpsPort, ca: edge.ca.certPem })
process.once('disconnect', () => void edge.stop(0))
