import type { TestEdge } from '../support/edge.ts'
import type { ReadAnswer, Reading } from './llhttp.ts'
import { disagreement, minimise } from './minimise.ts'
import { cut } from './pieces.ts'
import { Random } from './random.ts'
import { ARRIVAL_FIELD, type Arrival, REFUSAL_FIELD, type Recorder } from './recorder.ts'
import { type ReferenceRequest, readReference } from './reference.ts'
import { makeRequests, type RequestStream } from './request-stream.ts'
import { createVisitor } from './visit.ts'
import { differenceOfRequests, type Way } from './wire-rules.ts'

export type EdgeRun = { streams: number; requests: number; arrived: number; refused: number }

/**
 * Sends the streams of these case numbers through the edge to the application, and holds what arrived there, and which answer came for
 * what, against what llhttp reads in the same bytes. Rejects with the first disagreement.
 */
export async function runEdgeLane(
  parts: { edge: TestEdge; recorder: Recorder; hostname: string; way: Way; seed: number },
  caseNumbers: Iterable<number>,
  onCase: (run: EdgeRun) => void,
): Promise<void> {
  const { edge, recorder, hostname, way } = parts
  const visitor = createVisitor({ port: edge.httpsPort, hostname, ca: edge.ca.certPem })

  for (const caseNumber of caseNumbers) {
    const random = Random.of(parts.seed, caseNumber)
    const stream = makeRequests(random, hostname)
    const outcome = await tryStream(stream, random)
    if (typeof outcome === 'string') {
      const smallest = await minimise(stream.text, async (text) => {
        const again = await tryStream({ ...stream, text, isValid: false }, random)
        return typeof again === 'string' && kindOf(again) === kindOf(outcome)
      })
      throw disagreement({ caseNumber, text: smallest, why: outcome })
    }
    onCase(outcome)
  }

  async function tryStream(stream: RequestStream, random: Random): Promise<EdgeRun | string> {
    const bytes = Buffer.from(stream.text, 'latin1')
    const expected = readReference(bytes)
    const methods = [...expected.messages, ...(expected.partial ? [expected.partial] : [])].map(({ method }) => method)
    const mustEnd = expected.end.kind === 'refused' || (expected.end.kind === 'complete' && !expected.messages.at(-1)?.keepsAlive)
    let answers: ReadAnswer[]
    try {
      ;({ answers } = await visitor.visit(cut(bytes, random, 0.2), {
        methods,
        count: mustEnd ? Number.POSITIVE_INFINITY : expected.messages.length,
      }))
    } catch (error) {
      recorder.take(hostname)
      return (error as Error).message
    }
    return judge({ stream, expected, answers, arrivals: recorder.take(hostname), connection: { way, hostname } })
  }
}

type Evidence = {
  stream: RequestStream
  expected: Reading<ReferenceRequest>
  answers: ReadAnswer[]
  arrivals: Arrival[]
  connection: { way: Way; hostname: string }
}

/** What happened with a stream, or why that must not happen. */
function judge({ stream, expected, answers, arrivals, connection }: Evidence): EdgeRun | string {
  const { messages } = expected
  const run = { streams: 1, requests: messages.length, arrived: arrivals.length, refused: 0 }
  const byNumber = new Map(arrivals.map((arrival) => [arrival.number, arrival]))
  let last = -1
  for (const [i, answer] of answers.entries()) {
    const tag = fieldOf(answer, ARRIVAL_FIELD)
    if (tag === undefined) {
      const refusal = fieldOf(answer, REFUSAL_FIELD)
      const request = messages[i] ?? expected.partial // what has no proper end has begun to arrive all the same
      if (refusal !== undefined && !request?.isBeyondNode) return `request ${i + 1} arrived as something that is no HTTP: ${refusal}`
      run.refused += 1
      continue
    }
    const arrival = byNumber.get(Number.parseInt(tag, 10))
    if (!arrival) return `answer ${i + 1} is to somebody else's request: ${tag}`
    const request = messages[i]
    if (!request) return `request ${i + 1} arrived, and llhttp sees ${messages.length}: ${show(arrival)}`
    if (request.method !== 'HEAD' && answer.body !== tag) return `answer ${i + 1} has another answer's body: ${answer.body}`
    const difference = differenceOfRequests(request, arrival, connection)
    if (difference) return `request ${i + 1} arrived otherwise than it was sent: ${difference}`
    byNumber.delete(arrival.number)
    last = i
  }
  // What arrived and was not answered to the visitor any more: in order, and behind what was.
  for (const arrival of byNumber.values()) {
    const at = messages.findIndex((request, i) => i > last && differenceOfRequests(request, arrival, connection) === undefined)
    if (at < 0) return `a request arrived that llhttp does not see: ${show(arrival)}`
    last = at
  }
  const isWhole = stream.isValid && messages.length === stream.count
  if (
    isWhole &&
    !(connection.way === 'nginx' && endsAtExpectation(messages, answers)) &&
    (answers.length < stream.count || (connection.way === 'node' && run.refused > 0))
  )
    return `nothing is wrong with these ${stream.count} requests, and the answers were ${answers.map(({ status }) => status).join(' ')}`
  return run
}

/** Whether the last answer is nginx's refusal of a request that asked whether to send its body: the visitor may have sent it or not (RFC 9110 §10.1.1). */
function endsAtExpectation(messages: readonly ReferenceRequest[], answers: readonly ReadAnswer[]): boolean {
  const [request, answer] = [messages[answers.length - 1], answers.at(-1)]
  if (!request || !answer || fieldOf(answer, ARRIVAL_FIELD) !== undefined) return false
  return fieldOf(request, 'expect') !== undefined
}

/** What is wrong, without the bytes that it is wrong with. */
function kindOf(why: string): string {
  return why.split(':')[0]!.replaceAll(/\d+/g, '')
}

function fieldOf({ fields }: Pick<ReadAnswer, 'fields'>, wanted: string): string | undefined {
  const at = fields.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === wanted)
  return at < 0 ? undefined : fields[at + 1]
}

function show({ method, target, fields, body }: Arrival): string {
  return JSON.stringify({ method, target, fields, body })
}
