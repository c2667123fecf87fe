import { randomInt } from 'node:crypto'
import { realpathSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createAnnouncer } from '../../src/core/changes.ts'
import type { Db } from '../../src/core/db.ts'
import { registerDomain } from '../../src/core/domains.ts'
import type { Project } from '../../src/core/projects.ts'
import { type Hostname, parseHostname } from '../../src/hostname.ts'
import { type CopyReader, openCopyReader } from '../../src/replica/copy-reader.ts'
import { firstAnswer, residentMb, visitRandomly } from './hostname-visits.ts'
import { median, pause, percentile } from './measure.ts'
import { certificatesAmong, certifiedAt, hostnameAt } from './population-names.ts'
import { pausesBetween, startWarmTree, type WarmTree } from './warm-tree.ts'

export type OursAtSize = {
  snapshotMs: number
  copyMb: number
  followerMb: number
  startMs: number
  startMb: number
  usedMb: number
  hitUs: number
  missUs: number
  certificateUs: number
  visitUs: number
  claimsPerS: number
  edgePauseBeforeMs: number
  edgePauseMs: number
  followerPauseMs: number
  visitP50Ms: number
  visitP99Ms: number
  knownP50Ms: number
}

export type Installation = {
  home: string
  env: Record<string, string>
  hostnames: number
  caFile: string
  db: Db
  project: Project
  /** Visits until nothing more is remembered for it. */
  fillMemory: boolean
}

const STARTS = 3
const START_MS_MAX = 60_000
const LOOKUPS = 20_000
const LOOKUP_ROUNDS = 3
const VISITS_MS = 4_000
/** A name keeps its TLS context from its second visit on. One in ten has a certificate: more than there is room for, visited three times on average. */
const HOSTNAMES_TO_FILL = 70_000
const VISITS_TO_FILL_MS = 45_000
const NAMES_TO_FILL = 250_000
const CLAIMS_PER_S = 1_000
const CLAIMING_MS = 8_000
const CLAIMS_AT_ONCE_MAX = 100
const CLAIMS_WATCHED_EVERY = 200
const KNOWN_MS_MAX = 10_000
const CLAIM_EVERY_MS = 10
const VISIT_EVERY_MS = 40
const SETTLE_MS = 1_500
const RULES = {
  plans: new Map([['unlimited', 0]]),
  edgeHost: parseHostname('edge.localhost'),
  edgeIps: [],
  reserved: new Set<string>(),
  wildcards: false,
}

/** A first copy from the database, three starts with it, then visits, look-ups and claims. */
export async function measureNamesake(of: Installation): Promise<OursAtSize> {
  const copyPath = join(of.home, 'data', 'copy', 'routes.sqlite')
  const first = await snapshot(of)
  const starts: number[] = []
  let tree: WarmTree | undefined
  for (let n = 0; n < STARTS; n += 1) {
    await tree?.stop()
    const began = performance.now()
    tree = await startWarmTree(of.home, of.env)
    if (!(await firstAnswer({ port: tree.httpsPort, hostname: certifiedAt(n), caFile: of.caFile, withinMs: START_MS_MAX })))
      throw new Error('namesake does not answer')
    starts.push(performance.now() - began)
  }
  try {
    await tree!.complete()
    const { edge } = await tree!.pids()
    const startMb = residentMb([edge])
    const claiming = await claimWhileVisited(of, tree!, copyPath)
    const visits = { port: tree!.httpsPort, hostnames: of.hostnames, caFile: of.caFile, measured: [edge] }
    const { us: visitUs } = await visitRandomly({ ...visits, ms: VISITS_MS })
    if (of.fillMemory) {
      const { done } = await visitRandomly({ ...visits, hostnames: HOSTNAMES_TO_FILL, ms: VISITS_TO_FILL_MS })
      console.log(`${done} visits to ${certificatesAmong(HOSTNAMES_TO_FILL)} hostnames`)
      await askForNames(tree!.httpPort, NAMES_TO_FILL, of.hostnames)
    }
    const usedMb = residentMb([edge])
    const copyMb = statSync(realpathSync(copyPath)).size / 1_048_576
    return { ...first, copyMb, startMs: median(starts), startMb, usedMb, ...lookUp(copyPath, of.hostnames), visitUs, ...claiming }
  } finally {
    await tree!.stop()
  }
}

async function snapshot(of: Installation): Promise<{ snapshotMs: number; followerMb: number }> {
  const began = performance.now()
  const tree = await startWarmTree(of.home, of.env)
  try {
    await tree.complete()
    return { snapshotMs: performance.now() - began, followerMb: residentMb([(await tree.pids()).follower]) }
  } finally {
    await tree.stop()
  }
}

/** Processor time of one look-up, as an edge process makes it when its memory does not hold the hostname. */
function lookUp(copyPath: string, hostnames: number): { hitUs: number; missUs: number; certificateUs: number } {
  const reader = openCopyReader(copyPath)
  const drawn = (name: (n: number) => Hostname, among: number) => Array.from({ length: LOOKUPS }, () => name(randomInt(among)))
  const unclaimed = (n: number) => parseHostname(`www.x${n}.example`)
  try {
    return {
      hitUs: usEach(reader, drawn(hostnameAt, hostnames), (name) => reader.findRoute(name) !== undefined),
      missUs: usEach(reader, drawn(unclaimed, hostnames), (name) => reader.findRoute(name) === undefined),
      certificateUs: usEach(reader, drawn(certifiedAt, certificatesAmong(hostnames)), (name) => reader.findCertificate(name) !== undefined),
    }
  } finally {
    reader.close()
  }
}

function usEach(reader: CopyReader, names: Hostname[], isRight: (name: Hostname) => boolean): number {
  const rounds = Array.from({ length: LOOKUP_ROUNDS }, () => {
    const before = process.cpuUsage()
    if (!names.every(isRight) || !reader.isSound()) throw new Error('a look-up went wrong')
    const { user, system } = process.cpuUsage(before)
    return (user + system) / names.length
  })
  return Math.min(...rounds)
}

/** Claims at an even rate through the verb that the API calls, as another machine's API would, while visitors come at an even rate. */
async function claimWhileVisited({ db, project, hostnames, caFile }: Installation, tree: WarmTree, copyPath: string) {
  const announcer = createAnnouncer(db)
  const reader = openCopyReader(copyPath)
  await pause(SETTLE_MS) // the seconds of the start are over for the pauses that are counted
  const visits = { port: tree.httpsPort, hostnames, caFile, everyMs: VISIT_EVERY_MS, measured: [] }
  const atRest = await tree.pauses()
  await visitRandomly({ ...visits, ms: VISITS_MS })
  const before = await tree.pauses()
  const visiting = visitRandomly({ ...visits, ms: CLAIMING_MS })
  const known: number[] = []
  const claims = new Set<Promise<void>>()
  const failures: string[] = []
  let claimed = 0
  const claim = async (hostname: Hostname) => {
    await registerDomain(db, project, { hostname, metadataJson: '{}' }, RULES)
    announcer.announce(hostname)
    claimed += 1
  }
  const began = performance.now()
  const due = () => Math.floor(((performance.now() - began) / 1_000) * CLAIMS_PER_S)
  let sent = 0
  while (performance.now() - began < CLAIMING_MS) {
    await pause(CLAIM_EVERY_MS)
    for (; sent < due() && claims.size < CLAIMS_AT_ONCE_MAX; sent += 1) {
      const hostname = parseHostname(`www.n${randomInt(10 ** 9)}.example`)
      const running: Promise<void> = claim(hostname)
        .catch((error: Error) => void failures.push(error.message))
        .finally(() => claims.delete(running))
      claims.add(running)
      if (sent % CLAIMS_WATCHED_EVERY === 0) void running.then(async () => known.push(await untilKnown(reader, hostname)))
    }
  }
  await Promise.all(claims)
  if (failures.length > 0) throw new Error(`${failures.length} claims failed: ${failures[0]}`)
  const claimsPerS = claimed / ((performance.now() - began) / 1_000)
  const visited = await visiting
  await pause(SETTLE_MS)
  const after = await tree.pauses()
  reader.close()
  await announcer.close()
  return {
    claimsPerS,
    edgePauseBeforeMs: pausesBetween(atRest, before, 'edge').longestMs,
    edgePauseMs: pausesBetween(before, after, 'edge').longestMs,
    followerPauseMs: pausesBetween(before, after, 'follower').longestMs,
    visitP50Ms: visited.p50Ms,
    visitP99Ms: visited.p99Ms,
    knownP50Ms: percentile(known, 0.5),
  }
}

async function untilKnown(reader: CopyReader, hostname: Hostname): Promise<number> {
  const began = performance.now()
  while (!reader.findRoute(hostname) && performance.now() - began < KNOWN_MS_MAX) await pause(2)
  return performance.now() - began
}

/** So many requests over plain HTTP for claimed hostnames, which are shown the way to https: each is looked up and remembered. */
async function askForNames(port: number, requests: number, hostnames: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  const ONE_WRITE = 100
  try {
    for (let n = 0; n < requests; n += ONE_WRITE) {
      const wanted = Array.from({ length: ONE_WRITE }, () => `GET / HTTP/1.1\r\nHost: ${hostnameAt(randomInt(hostnames))}\r\n\r\n`)
      const answered = countAnswers(socket, ONE_WRITE)
      socket.write(wanted.join(''))
      await answered
    }
  } finally {
    socket.destroy()
  }
}

function countAnswers(socket: ReturnType<typeof connect>, wanted: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let seen = 0
    const onData = (chunk: Buffer) => {
      seen += chunk.toString('latin1').split('HTTP/1.1 308').length - 1
      if (seen < wanted) return
      socket.off('data', onData).off('close', reject)
      resolve()
    }
    socket.on('data', onData).on('close', reject)
  })
}
