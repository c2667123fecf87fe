import { startTestEdge } from '../support/edge.ts'
import { startNginx } from '../support/nginx.ts'
import { type EdgeRun, runEdgeLane } from './edge-run.ts'
import { startRecorder } from './recorder.ts'
import type { Way } from './wire-rules.ts'

const LANES = 8
/** Why node:http may refuse a request that the edge has passed on: for its method or its target, never for how it is framed. */
const BEYOND_NODE = ['HPE_INVALID_METHOD', 'HPE_INVALID_URL']

export type EdgeFuzzing = { seed: number; from: number; streams: number; way: Way; onCase?: (total: EdgeRun) => void }

/**
 * Sends streams of requests, most of them with something wrong, through a real edge to a real application, in lanes that share the
 * connections to it but not their hostnames. Rejects with the first disagreement between what arrived and what llhttp reads.
 */
export async function fuzzEdge({ seed, from, streams, way, onCase }: EdgeFuzzing): Promise<EdgeRun> {
  await using undo = new AsyncDisposableStack()
  const recorder = await startRecorder()
  undo.defer(recorder.stop)
  const nginx = way === 'nginx' ? await startNginx(recorder.port) : undefined
  if (nginx) undo.defer(nginx.stop)
  const edge = await startTestEdge({ accessLogSample: 0 })
  undo.defer(() => edge.stop(0))

  const total: EdgeRun = { streams: 0, requests: 0, arrived: 0, refused: 0 }
  const add = (run: EdgeRun) => {
    total.streams += run.streams
    total.requests += run.requests
    total.arrived += run.arrived
    total.refused += run.refused
    onCase?.(total)
  }
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    const hostname = `lane-${lane}.example.com`
    await edge.route(hostname, nginx?.url ?? recorder.url)
    await runEdgeLane({ edge, recorder, hostname, way, seed }, numbersOf(lane, from, from + streams), add)
  })
  await Promise.all(lanes)
  const strangers = recorder.left()
  if (strangers.length > 0) throw new Error(`requests arrived that nobody sent: ${JSON.stringify(strangers.slice(0, 3))}`)
  const refused = recorder.refused.filter((code) => !BEYOND_NODE.includes(code))
  if (refused.length > 0) throw new Error(`something arrived that is no HTTP: ${refused.slice(0, 3).join(', ')}`)
  return total
}

/** The hostname of a case hangs on its lane, so the lane must hang on the case's number alone. */
function* numbersOf(lane: number, from: number, end: number): Generator<number> {
  for (let number = from; number < end; number += 1) if (number % LANES === lane) yield number
}
