import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { Random } from '../../test/fuzz/random.ts'
import { ChangingDatabase, NAMES, OWN_HOST, ownRoute, routeIn, SETTING } from '../../test/support/chance/changing-database.ts'
import { seedsToTry, upTo } from '../../test/support/seeds.ts'
import { type Hostname, wildcardOver } from '../hostname.ts'
import { temporaryFolder } from '../replica/copy.fixture.ts'
import { type CopyWriter, openCopyWriter } from '../replica/copy-writer.ts'
import { createFollower, type Follower } from '../replica/follower.ts'
import type { LightRoute, Route } from '../replica/rows.ts'
import { type CopyServer, startCopyServer } from '../replica/server.ts'
import { copyPath, followerSocket } from './copy-place.ts'
import { openLocalCopy } from './local-copy.ts'
import type { RoleContext } from './role.ts'
import { type LocalAnswer, rememberAll } from './route-memory.ts'

const STEPS = 400
const AT_ONCE = 30
type Answer = LocalAnswer<Route> | LocalAnswer<LightRoute>

const WAIT = { timeout: 20_000, interval: 50 }

/** A database that changes, a follower that is restarted, and two processes that remember what they read of the copy. */
async function createScene(random: Random, hostnamesMax: number) {
  const place = temporaryFolder()
  const context = { config: { dataDir: place.folder, copyHostnamesMax: hostnamesMax }, runDir: place.folder } as RoleContext
  mkdirSync(dirname(copyPath(context.config)))
  const database = new ChangingDatabase(random)
  let writer: CopyWriter
  let follower: Follower
  let server: CopyServer
  const start = async () => {
    writer = openCopyWriter(copyPath(context.config), { metadata: true, hostnamesMax })
    const log = pino({ level: 'silent' })
    follower = createFollower({ source: database.source(), writer, settingNames: [SETTING], pinned: [OWN_HOST], log, now: Date.now })
    const refuse = async () => ({ kind: 'refused' as const, reason: 'nobody issues here' })
    const on = { findRoute: follower.findRoute, hostnamesUsed: follower.hostnamesUsed, requestCertificate: refuse, visitorCame() {} }
    server = await startCopyServer({ socketPath: followerSocket(context), on })
    follower.start(server)
  }
  const stop = async () => {
    await follower.stop()
    await server.stop()
    writer.close()
  }
  await start()
  const processes = [
    openLocalCopy<Route>(context, { keep: (route) => route, metadata: true }),
    openLocalCopy<LightRoute>(context, { keep: toLight, remember: rememberAll }),
  ]
  await Promise.all(processes.map((copy) => copy.follower.firstHeard(WAIT.timeout)))
  /** Of each claim it was so at a moment since what the follower says that all have confirmed. What covers a claim that went since is not asked: it went in steps. */
  const visit = () => {
    const reached = server.applied().reached?.cursor
    const name = random.pick(NAMES)
    const answer = random.pick(processes).findRoute(name)
    if (answer instanceof Promise || answer.kind === 'unavailable' || reached?.epoch !== database.epoch) return
    const since = database.since(Number(reached.seq))
    const found = answer.kind === 'route' ? answer.route : undefined
    for (const claim of [name, wildcardOver(name)]) {
      const wanted = since.map((data) => summary(ownRoute(data, claim)))
      expect(
        wanted,
        `${claim} since ${reached.seq} of ${database.data.feed.length}, found for ${name} in the copy: ${writer.findRoute(name)?.hostname}`,
      ).toContain(summary(found?.hostname === claim ? found : undefined))
      if (wanted.some((each) => each !== summary(undefined))) return
    }
  }

  const checkWhole = async () => {
    const { data } = database
    const { reader } = processes[0]!
    for (const name of NAMES) {
      const [known] = writer.known([name])
      expect([name, reader.findCertificate(name)]).toEqual([name, known && data.certificates.get(name)])
      const found = reader.findRoute(name)
      if (found || hostnamesMax === 0) expect([name, found]).toEqual([name, routeIn(data, name)])
    }
    expect(reader.findSetting(SETTING)).toEqual(data.setting)
    expect(reader.readChallenges()).toEqual([...data.challenges].sort((one, other) => one.expiresAtMs - other.expiresAtMs))
    for (const name of NAMES)
      for (const [number, copy] of processes.entries()) {
        const wanted = routeIn(data, name)
        const kept = wanted && (number === 0 ? wanted : toLight(wanted))
        expect([name, await answerOf(copy, name)]).toEqual([name, kept ? { kind: 'route', route: kept } : { kind: 'unknown' }])
      }
  }

  const seldom = [
    () => database.promote(),
    () => random.chance(0.3) && database.restore(),
    () => random.chance(0.3) && database.prune(),
    () => follower.hostnamesUsed([random.pick(NAMES), random.pick(NAMES)]),
    () => follower.hostnamesUsed([random.pick(NAMES), random.pick(NAMES)]),
    async () => {
      if (!random.chance(0.3)) return
      await stop()
      await start()
    },
  ]
  return {
    move: () => (random.chance(0.97) ? (random.chance(0.5) ? visit() : database.change()) : random.pick(seldom)()),
    async finish() {
      database.isCalm = true
      database.change()
      const end = () => ({ epoch: database.epoch, seq: String(database.data.feed.length) })
      await expect.poll(() => server.applied().reached?.cursor, WAIT).toMatchObject(end())
      await expect.poll(() => processes.every((copy) => copy.isCurrent()), WAIT).toBe(true)
      await checkWhole()
    },
    async remove() {
      for (const copy of processes) copy.close()
      await stop()
      place.remove()
    },
  }
}

async function play(seed: number, hostnamesMax: number): Promise<void> {
  const random = new Random(seed)
  const scene = await createScene(random, hostnamesMax)
  try {
    for (let step = 0; step < STEPS; step += 1) {
      await scene.move()
      for (let left = random.below(6); left > 0; left -= 1) await turn()
    }
    await scene.finish()
  } finally {
    await scene.remove()
  }
}

/** So many names may be looked up in a second, and so many have been. */
async function answerOf(copy: { findRoute(name: Hostname): Answer | Promise<Answer> }, name: Hostname): Promise<Answer> {
  for (;;) {
    const answer = await copy.findRoute(name)
    if (answer.kind !== 'unavailable') return answer
    await pause(WAIT.interval)
  }
}

/** Of what edges keep what is its own: its project's may be newer, or older by the one reading between the two. */
function summary(route: LightRoute | undefined): string {
  return route ? `${route.hostname} of ${route.projectId}${route.verified ? ', verified' : ''}` : 'unknown'
}

/** As an edge keeps it. */
function toLight({ metadataJson: _, createdAtMs: __, version: ___, ...light }: Route): LightRoute {
  return light
}

/** Many at once: each waits most of its time. */
function lots(seeds: readonly number[]): number[][] {
  return Array.from({ length: Math.ceil(seeds.length / AT_ONCE) }, (_, lot) => seeds.slice(lot * AT_ONCE, (lot + 1) * AT_ONCE))
}

test.each([
  ['that holds every hostname', 0],
  ['bounded to some', 4],
])(
  'whatever becomes of the database, a copy %s agrees with it in the end, and so do the processes',
  async (_, hostnamesMax) => {
    for (const seeds of lots(seedsToTry(upTo(AT_ONCE)))) {
      const outcomes = await Promise.allSettled(seeds.map((seed) => play(seed, hostnamesMax)))
      const failed = outcomes.flatMap((outcome, at) => (outcome.status === 'rejected' ? [{ seed: seeds[at], reason: outcome.reason }] : []))
      if (failed.length > 0) throw new Error(`seeds ${failed.map(({ seed }) => seed).join(', ')}`, { cause: failed[0]!.reason })
    }
  },
  600_000,
)
