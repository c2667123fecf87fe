import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Random } from '../../test/fuzz/random.ts'
import { type ApplicationConnection, Http1Application, Http2Application, type Questions } from '../../test/support/chance/applications.ts'
import { Asked, type Protocol, REQUESTS_MAX } from '../../test/support/chance/asked.ts'
import { Http1Visits } from '../../test/support/chance/http1-visits.ts'
import { Http2Visits } from '../../test/support/chance/http2-visits.ts'
import type { VisitorConnection } from '../../test/support/chance/visitor-connection.ts'
import { settled } from '../../test/support/line.ts'
import { createMemoryEdge } from '../../test/support/memory-edge.ts'
import { seedsToTry, upTo } from '../../test/support/seeds.ts'
import { PIECES } from '../../test/support/telling-bytes.ts'
import { parseHostname } from '../hostname.ts'
import { UpstreamFailure } from './upstream.ts'

/**
 * In 89 a wish to change the protocol meets a connection that has just ended. In the last four an answer, or in the last two a tunnel, has to be cut
 * while a whole answer before it waits for a visitor who has asked ahead.
 */
const SEEDS = seedsToTry([...upTo(60), 89, 166, 491, 1838, 1927])
const STEPS = 400
const VISITORS_MAX = 6
const LAST_ROUNDS_MAX = 400
const BRIDGE_MS = 60_000
const LOOKS_AGAIN_MS = 20
/** As long as the edge waits for an application to say that it wants a body; a few times, no time-out is over. */
const WAIT_MS = 1_000
const WAITS_MAX = 3
const ALL_BYTES = 1_000_000
/** Who visits. */
const VISITORS: readonly (readonly Protocol[])[] = [
  ['HTTP/1.1', 'HTTP/2'],
  ['HTTP/1.0', 'HTTP/1.1', 'HTTP/2'],
  ['HTTP/1.0', 'HTTP/1.1', 'HTTP/1.1'],
]
/** By the protocol that its application is spoken to with. */
const HOSTNAMES = { http1: parseHostname('one.customer.com'), h2c: parseHostname('two.customer.com') }

/** Visitors of both protocols, an edge, and applications of both, all in memory. With `bridgeMs` applications are away at times, for less than that. */
function createScene(random: Random, bridgeMs = 0) {
  const all: Asked[] = []
  const faults: string[] = []
  const visitors: VisitorConnection[] = []
  const applications: ApplicationConnection[] = []
  const protocols = random.pick(VISITORS)
  let isEnding = false
  let isDraining = false
  const away = new Set<string>()
  const unheard = new Set<string>()
  const fault = (what: string | undefined) => void (what !== undefined && faults.push(what))
  const questions: Questions = {
    byNumber: (number) => all[number]!,
    mayFail(hostname, isAffected = () => true) {
      for (const asked of all) if (asked.hostname === hostname && asked.outcome === 'open' && isAffected(asked)) asked.mayFail = true
    },
    mayFailUntilHeard(hostname) {
      unheard.add(hostname)
      setImmediate(() => unheard.delete(hostname))
    },
    fault,
  }
  const edge = createMemoryEdge({
    accessLogSample: 1,
    bridgeMs,
    load: { connections: VISITORS_MAX, exchanges: 0, waiting: 0, held: 0 },
    findHost(hostname) {
      const upstreamProtocol = hostname === HOSTNAMES.http1 ? 'http1' : 'h2c'
      const project = {
        projectId: upstreamProtocol,
        projectSlug: upstreamProtocol,
        upstreamUrl: 'http://127.0.0.1:1',
        upstreamProtocol,
      } as const
      return { kind: 'route', route: { hostname, ...project, verified: true, proofNeeded: false } }
    },
    async connect({ protocol }) {
      const isHttp1 = protocol === 'http1'
      if (away.has(isHttp1 ? HOSTNAMES.http1 : HOSTNAMES.h2c)) throw new UpstreamFailure('refused', 'nobody is there')
      const application = isHttp1
        ? new Http1Application(HOSTNAMES.http1, questions, random)
        : new Http2Application(HOSTNAMES.h2c, questions)
      if (isEnding) application.openWide()
      applications.push(application)
      return application.line.socket as unknown as Socket
    },
  })
  const hostnameOf = new Map<VisitorConnection, string>()
  const come = () => {
    const parts = { random, fault }
    const hostname = random.pick(Object.values(HOSTNAMES))
    const protocol = random.pick(protocols)
    const visitor = protocol === 'HTTP/2' ? new Http2Visits(parts) : new Http1Visits(parts, protocol)
    const socket = Object.assign(visitor.line.socket as unknown as TLSSocket, { alpnProtocol: protocol === 'HTTP/2' ? 'h2' : 'http/1.1' })
    edge.serve(socket, { servername: hostname, peer: '192.0.2.1', covers: () => true })
    if (visitor instanceof Http2Visits) visitor.begin()
    visitors.push(visitor)
    hostnameOf.set(visitor, hostname)
  }
  const ask = () => {
    const free = visitors.filter(({ hasRoom }) => hasRoom)
    if (!isDraining && free.length < VISITORS_MAX && (free.length === 0 || random.chance(0.1))) return come()
    if (free.length === 0 || all.length === REQUESTS_MAX) return
    const visitor = random.pick(free)
    const asking = { hostname: hostnameOf.get(visitor)!, protocol: visitor.protocol, mayWait: bridgeMs === 0 }
    const asked = new Asked(all.length, asking, random)
    const cannotChange = asked.mayChange && asked.hostname === HOSTNAMES.h2c // HTTP/2 knows no change of protocol
    asked.mayFail = cannotChange || unheard.has(asked.hostname) || (away.has(asked.hostname) && !asked.isHoldable)
    all.push(asked)
    visitor.ask(asked)
  }
  const ofVisitor = (act: (visitor: VisitorConnection) => void) => () => void (visitors.length > 0 && act(random.pick(visitors)))
  const ofApplication = (act: (application: ApplicationConnection) => void) => () => {
    const open = applications.filter(({ line }) => !line.socket.destroyed)
    if (open.length > 0) act(random.pick(open))
  }
  const goAway = () => {
    const hostname = random.pick(Object.values(HOSTNAMES))
    away.add(hostname)
    questions.mayFail(hostname, ({ isHoldable }) => !isHoldable)
    for (const application of applications) if (application.hostname === hostname && !application.line.socket.destroyed) application.reset()
  }
  const comeBack = () => away.delete(random.pick(Object.values(HOSTNAMES)))
  let waits = 0
  const wait = () => {
    waits += 1
    if (waits <= WAITS_MAX) vi.advanceTimersByTime(WAIT_MS)
  }
  const often = [
    ...[ask, ask, ofVisitor((visitor) => visitor.sendOn(random.pick(PIECES))), ofVisitor((visitor) => visitor.sendOn(random.pick(PIECES)))],
    ...[ofVisitor((visitor) => visitor.line.release()), ofVisitor((visitor) => visitor.open(random))],
    ...[
      ofApplication((application) => application.answerOn(random.pick(PIECES))),
      ofApplication((application) => application.answerOn(random.pick(PIECES))),
    ],
    ...[ofApplication((application) => application.line.release()), ofApplication((application) => application.open(random))],
  ]
  const seldom = [
    ofVisitor((visitor) => visitor.line.hold()),
    ofApplication((application) => application.line.hold()),
    ofVisitor((visitor) => random.chance(0.3) && visitor.leave(random)),
    ofApplication((application) => random.chance(0.3) && application.fail(random)),
    ...(bridgeMs === 0 ? [wait] : []),
    ...(bridgeMs > 0 ? [goAway, comeBack, comeBack] : []),
  ]
  const goOn = () => {
    let moved = false
    for (const visitor of visitors) {
      visitor.line.release()
      while (visitor.sendOn(ALL_BYTES)) moved = true
    }
    for (const application of applications) {
      application.line.release()
      while (application.answerOn(ALL_BYTES)) moved = true
    }
    return moved
  }
  return {
    move: () => random.pick(random.chance(0.8) ? often : seldom)(),
    drain() {
      isDraining = true
      edge.drain()
    },
    async finish() {
      isEnding = true
      away.clear()
      for (const one of [...visitors, ...applications]) one.openWide()
      let restsFor = 0
      for (let round = 0; round < LAST_ROUNDS_MAX; round += 1) {
        restsFor = goOn() ? 0 : restsFor + 1
        if (restsFor > 0 && all.every(({ isOver }) => isOver)) break
        if (restsFor > 1) {
          expect(all.filter(({ isUninformed }) => isUninformed).map(({ name }) => name)).toEqual([])
          if (bridgeMs === 0) vi.advanceTimersByTime(WAIT_MS)
        }
        await settled()
        if (bridgeMs > 0) await pause(LOOKS_AGAIN_MS)
      }
      expect(faults).toEqual([])
      expect(all.filter(({ isOver }) => !isOver).map(({ name }) => name)).toEqual([])
      expect(visitors.filter(({ isToEnd, line }) => isToEnd && !line.isOver())).toEqual([])
      expect(edge.count()).toBe(0)
      const { connections, idle } = edge.upstreamCounts()
      expect(idle).toBe(connections)
      for (const asked of all) {
        const timesMax = !asked.isReplayable ? 1 : bridgeMs > 0 ? Number.POSITIVE_INFINITY : 3
        expect([asked.name, asked.timesSeen <= timesMax]).toEqual([asked.name, true])
        for (const upload of asked.uploads) expect(upload.equals(asked.upload ?? Buffer.alloc(0))).toBe(true)
      }
      edge.destroy()
    },
  }
}

/** Plays the scene; with `drainsAt`, the edge begins to leave at that step. */
async function play(scene: ReturnType<typeof createScene>, random: Random, drainsAt = STEPS): Promise<void> {
  for (let step = 0; step < STEPS; step += 1) {
    if (step === drainsAt) scene.drain()
    scene.move()
    if (random.chance(0.3)) await new Promise((resolve) => setImmediate(resolve))
    if (random.chance(0.05)) await settled()
  }
  await scene.finish()
}

test.each(SEEDS)(
  'whatever visitors and applications do, and when the edge leaves, each answer is its own request’s and whole, or seen to have failed (seed %i)',
  async (seed) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const random = new Random(seed)
    const scene = createScene(random)
    await play(scene, random, random.chance(0.3) ? STEPS / 2 + random.below(STEPS / 2) : STEPS)
  },
)

test.each(seedsToTry(upTo(12)))('who can wait for an application that is away is answered when it is back (seed %i)', async (seed) => {
  const random = new Random(seed)
  await play(createScene(random, BRIDGE_MS), random)
})
