import { Agent } from 'node:https'
import { pause } from '../../src/lib/back-off.ts'
import type { Chance } from './chance.ts'
import { expectedBody } from './expected-body.ts'
import { EDGES, type EdgeName } from './machines.ts'
import { type Miss, Tally, WrongAnswer } from './tally.ts'
import { type Answer, type Destination, openHttp2, visitHttp1 } from './visits.ts'

/** A hostname that visitors may ask for, and whose application has to answer. */
export type Known = { hostname: string; project: string }

export type LoadParts = { addressOf(edge: EdgeName): string; root: string; known: readonly Known[]; chance: Chance }

/** Visitors of every kind at every edge, until stopped. */
export type Load = {
  /** From now on requests count into a tally of their own. */
  begin(): Tally
  stop(): Promise<void>
}

const KEPT_REQUESTS = 40
const KINDS = { fresh: 3, kept: 3, http2: 2 }
const EVERY_MS = { fresh: 150, kept: 60, http2: 100, stranger: 500 }
const STREAMS_AT_ONCE = 2
const LAST_ANSWERS_MS = 20_000

/**
 * At each edge: new connections and kept ones, HTTP/1.1 and HTTP/2, each for a hostname chosen anew among all that are known, and every
 * answer's status, project, hostname and path is checked; and strangers, whose names nobody has registered and who must find no certificate.
 * Nothing is tried twice, but for streams that HTTP/2 declares unread.
 */
export function startLoad({ addressOf, root, known, chance }: LoadParts): Load {
  let tally = new Tally()
  let stopped = false
  let requests = 0

  const destination = (edge: EdgeName, hostname: string): Destination => ({ address: addressOf(edge), hostname, root })
  const nextPath = () => `/${(requests++).toString(36)}`
  const count = async (edge: EdgeName, kind: string, hostname: string, ask: () => Promise<void>): Promise<boolean> => {
    const current = tally
    const startedAt = performance.now()
    const miss = (error: unknown): Miss => ({ edge, kind, hostname, startedAt, endedAt: performance.now(), sentence: sentenceOf(error) })
    current.requests += 1
    current.underWay += 1
    try {
      await ask()
      return true
    } catch (error) {
      current[error instanceof WrongAnswer ? 'wrong' : 'failed'].push(miss(error))
      return false
    } finally {
      current.underWay -= 1
    }
  }
  const checked = async (answer: Promise<Answer>, { hostname, project }: Known, path: string): Promise<void> => {
    const { status, body } = await answer
    if (status !== 200) throw new Error(`${status} ${body.slice(0, 60).replaceAll('\n', ' ')}`)
    if (body !== expectedBody(project, hostname, path)) throw new WrongAnswer(`not ${project}'s answer, but ${body.slice(0, 80)}`)
  }

  const freshLane = async (edge: EdgeName) => {
    const one = chance.of(known)
    const path = nextPath()
    await count(edge, 'new connection', one.hostname, () => checked(visitHttp1(destination(edge, one.hostname), path), one, path))
    await pause(EVERY_MS.fresh)
  }
  const keptLane = async (edge: EdgeName) => {
    const one = chance.of(known)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let i = 0; i < KEPT_REQUESTS && !stopped; i++) {
      const path = nextPath()
      const at = destination(edge, one.hostname)
      await count(edge, 'kept connection', one.hostname, () => checked(visitHttp1(at, path, agent), one, path))
      await pause(EVERY_MS.kept * 2 * chance.share())
    }
    agent.destroy()
  }
  const http2Lane = async (edge: EdgeName) => {
    const one = chance.of(known)
    const visitor = openHttp2(destination(edge, one.hostname))
    for (let i = 0; i < KEPT_REQUESTS && !stopped; i++) {
      const stream = () => {
        const path = nextPath()
        return count(edge, 'HTTP/2', one.hostname, () => checked(visitor.visit(path), one, path))
      }
      await Promise.all(Array.from({ length: STREAMS_AT_ONCE }, stream))
      await pause(EVERY_MS.http2 * 2 * chance.share())
    }
    visitor.leave()
  }
  const strangerLane = async (edge: EdgeName) => {
    const hostname = `shop.nobodys-${requests++}.test`
    const outcome = await visitHttp1(destination(edge, hostname), '/').catch((error: Error) => error)
    if (outcome instanceof WrongAnswer || !(outcome instanceof Error)) {
      await count(edge, 'stranger', hostname, () =>
        Promise.reject(new WrongAnswer('a certificate was shown for a name that nobody registered')),
      )
    }
    await pause(EVERY_MS.stranger)
  }
  const run = async (lane: (edge: EdgeName) => Promise<void>, edge: EdgeName) => {
    while (!stopped) await lane(edge)
  }
  const lanes = EDGES.flatMap((edge) => [
    ...Array.from({ length: KINDS.fresh }, () => run(freshLane, edge)),
    ...Array.from({ length: KINDS.kept }, () => run(keptLane, edge)),
    ...Array.from({ length: KINDS.http2 }, () => run(http2Lane, edge)),
    run(strangerLane, edge),
  ])
  return {
    begin() {
      tally = new Tally()
      return tally
    },
    async stop() {
      stopped = true
      await Promise.all(lanes)
    },
  }
}

/** Waits until every request that counts into it has ended. */
export async function untilWhole(tally: Tally): Promise<void> {
  const deadline = performance.now() + LAST_ANSWERS_MS
  while (tally.underWay > 0 && performance.now() < deadline) await pause(20)
}

function sentenceOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code && !message.includes(code) ? `${code} ${message}` : message
}
