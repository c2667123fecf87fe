import { setImmediate as turn } from 'node:timers/promises'
import { type Hostname, parseClaimName, wildcardOver } from '../../../src/hostname.ts'
import { certificateOf, foundRoute, projectOf, routeOf } from '../../../src/replica/copy.fixture.ts'
import type { Change, CopySource } from '../../../src/replica/copy-source.ts'
import type { CertificateRow, ChallengeRow, Cursor, ProjectRow, Route, RouteRow } from '../../../src/replica/rows.ts'
import type { Random } from '../../fuzz/random.ts'

export const NAMES: readonly Hostname[] = [
  ...['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'a.wild', 'b.wild', '*.wild'].map((name) =>
    parseClaimName(`${name}.customer.com`),
  ),
  parseClaimName('edge.namesake.test'),
]
export const OWN_HOST = NAMES.at(-1)!
const CLAIMED = NAMES.slice(0, -1)
const PROJECTS = ['7', '8', '9']
export const SETTING = 'thumbprint'
const TURNS_MAX = 4
const TURNS_OF_LOOK_UPS_MAX = 40 // as of a database that is about to go
const FAILURE_SHARE = 0.02
const CHANGES_PER_READ = 1_000 // of a follower: what one transaction changes may come in two readings

/** All that is committed at one moment. */
export type Data = {
  routes: ReadonlyMap<Hostname, RouteRow>
  projects: ReadonlyMap<string, ProjectRow>
  certificates: ReadonlyMap<Hostname, CertificateRow>
  challenges: readonly ChallengeRow[]
  setting: Buffer | undefined
  feed: readonly Change[]
  /** The last one given away. */
  version: number
}

const EMPTY: Data = {
  routes: new Map(),
  projects: new Map(),
  certificates: new Map(),
  challenges: [],
  setting: undefined,
  feed: [],
  version: 0,
}

/**
 * A database that others change while it is read, whose answers take turns of the event loop, whose connections fail, and which is restored from a
 * backup or replaced by a standby that lacks the last commits. It remembers all that was committed: the position in its log is the number of commits.
 */
export class ChangingDatabase {
  /** Failures have an end. */
  isCalm = false
  readonly #random: Random
  #history: Data[] = [EMPTY]
  #epoch = 1
  /** The epochs that began by a promotion, and the position that each shares with the one before. */
  readonly #sharedBy = new Map<number, number>()
  #prunedTo = 0
  #server = 1
  readonly #hints = new Set<() => void>()

  constructor(random: Random) {
    this.#random = random
  }

  get data(): Data {
    return this.#history.at(-1)!
  }

  get epoch(): string {
    return String(this.#epoch)
  }

  /** All that was committed since the feed was as long, that moment included. */
  since(feedLength: number): Data[] {
    const first = this.#history.findLastIndex(({ feed }) => feed.length <= feedLength)
    return this.#history.slice(first)
  }

  /** One transaction of whatever others do. */
  change(): void {
    const random = this.#random
    const name = random.pick(CLAIMED)
    const { routes, certificates } = this.data
    const some = [
      () => this.#putProject(random.pick(PROJECTS)),
      () => this.#claim(name, random.pick(PROJECTS)),
      () => this.#claim(name, random.pick(PROJECTS)),
      () => routes.has(name) && this.#release(name),
      () => (routes.has(name) || certificates.has(name)) && this.#certify(random.chance(0.5) ? name : OWN_HOST),
      () =>
        this.#commit({ setting: random.chance(0.2) ? undefined : Buffer.from([random.below(256)]) }, [{ kind: 'setting', key: SETTING }]),
      () => this.#challenge(name),
      () => random.chance(0.1) && this.#giveUp(random.pick(PROJECTS)),
      () => random.chance(0.1) && this.#muchElse(),
    ]
    random.pick(some)()
    if (random.chance(0.8)) for (const hint of this.#hints) hint() // the others are lost
  }

  /** Those who are behind what is kept of the feed need a snapshot. */
  prune(): void {
    this.#prunedTo = this.#random.below(this.data.feed.length + 1)
  }

  /** A standby takes over that has not heard of the last commits. */
  promote(): void {
    const shared = Math.max(0, this.#history.length - 1 - this.#random.below(6))
    this.#turnTo(shared)
    this.#sharedBy.set(this.#epoch, shared)
    this.#prunedTo = Math.min(this.#prunedTo, this.data.feed.length)
  }

  /** As after a restored backup: of what anybody holds nothing can be known. */
  restore(): void {
    this.#turnTo(this.#random.below(this.#history.length))
    this.#prunedTo = this.data.feed.length
  }

  source(): CopySource {
    const read = <T>(from: (data: Data) => T) => this.#read(from)
    const rows = <K, V>(from: ReadonlyMap<K, V>, keys: readonly K[]) => keys.flatMap((key) => from.get(key) ?? [])
    const pagesOf = <T>(from: (data: Data) => ReadonlyMap<unknown, T>) => this.#pagesOf(from)
    return {
      server: () => this.#server,
      currentCursor: () => read(({ feed }) => this.#cursorAt(feed.length)),
      readChanges: (cursor, limit) => read((data) => this.#changesSince(cursor, limit, data)),
      loadRoutes: (names) => read(({ routes }) => rows(routes, names)),
      loadCertificates: (names) => read(({ certificates }) => rows(certificates, names)),
      loadProjects: (ids) => read(({ projects }) => rows(projects, ids)),
      eachProjectPage: () => pagesOf(({ projects }) => projects),
      eachRoutePage: () => pagesOf(({ routes }) => routes),
      eachCertificatePage: () => pagesOf(({ certificates }) => certificates),
      loadChallenges: () => read(({ challenges }) => [...challenges]),
      readSetting: () => read(({ setting }) => setting),
      findRoutes: (names) => this.#read((data) => names.flatMap((name) => ownRoute(data, name) ?? []), TURNS_OF_LOOK_UPS_MAX),
      findCertificates: (names) => this.#read(({ certificates }) => rows(certificates, names), TURNS_OF_LOOK_UPS_MAX),
      listen: (hint) => {
        this.#hints.add(hint)
        return { stop: () => void this.#hints.delete(hint) }
      },
    }
  }

  async #read<T>(from: (data: Data) => T, turnsMax = TURNS_MAX): Promise<T> {
    const server = this.#server
    await this.#aWhile()
    if (!this.isCalm && this.#random.chance(FAILURE_SHARE)) throw new Error('the database is away')
    if (server !== this.#server) throw new Error('the connection was lost')
    const found = from(this.data)
    await this.#aWhile(turnsMax)
    return found
  }

  async *#pagesOf<T>(from: (data: Data) => ReadonlyMap<unknown, T>): AsyncIterable<T[]> {
    const size = 1 + this.#random.below(4)
    const keys = [...(await this.#read(from)).keys()].sort()
    for (let at = 0; at < keys.length; at += size)
      yield await this.#read((data) => keys.slice(at, at + size).flatMap((key) => from(data).get(key) ?? []))
  }

  async #aWhile(turnsMax = TURNS_MAX): Promise<void> {
    for (let left = this.#random.below(turnsMax); left > 0; left -= 1) await turn()
  }

  #changesSince(cursor: Cursor, limit: number, { feed }: Data): Awaited<ReturnType<CopySource['readChanges']>> {
    const shared = this.#sharedWith(Number(cursor.epoch))
    const seq = Number(cursor.seq)
    if (shared === undefined || seq < this.#prunedTo) return { kind: 'snapshot-needed' }
    if (cursor.epoch !== this.epoch) return { kind: 'promoted', epoch: this.epoch, sharedLsn: lsnOf(shared) }
    const changes = feed.slice(seq, seq + limit)
    return { changes, cursor: this.#cursorAt(seq + changes.length), lsn: lsnOf(this.#history.length - 1) }
  }

  /** The position up to which that epoch's history is ours, if nothing but promotions lies between. */
  #sharedWith(epoch: number): number | undefined {
    let shared = Number.POSITIVE_INFINITY
    for (let later = epoch + 1; later <= this.#epoch; later += 1) {
      const position = this.#sharedBy.get(later)
      if (position === undefined) return undefined
      shared = Math.min(shared, position)
    }
    return shared
  }

  #cursorAt(seq: number): Cursor {
    return { epoch: this.epoch, xid: '10', seq: String(seq) }
  }

  #turnTo(position: number): void {
    this.#history = this.#history.slice(0, position + 1)
    this.#epoch += 1
    this.#server += 1
  }

  #commit(parts: Partial<Data>, changes: Change[]): void {
    const { data } = this
    this.#history.push({ ...data, version: data.version + 1, ...parts, feed: [...data.feed, ...changes] })
  }

  #putProject(id: string): void {
    const version = this.data.version + 1
    const changes = { slug: `acme${id}`, upstreamUrl: `https://${id}.test/${version}`, version }
    this.#commit({ projects: new Map(this.data.projects).set(id, projectOf(id, changes)) }, [{ kind: 'project', key: id }])
  }

  /** Claims do not move: whoever wants another's waits until it is released. */
  #claim(name: Hostname, projectId: string): void {
    if ((this.data.routes.get(name)?.projectId ?? projectId) !== projectId) this.#release(name)
    if (!this.data.projects.has(projectId)) this.#putProject(projectId)
    const version = this.data.version + 1
    const route = routeOf(name, { projectId, version, verified: this.#random.chance(0.5), metadataJson: `{"version":${version}}` })
    this.#commit({ routes: new Map(this.data.routes).set(name, route) }, [{ kind: 'host', key: name }])
    if (this.#random.chance(0.7)) this.#certify(name)
  }

  #release(name: Hostname): void {
    this.#commit({ routes: without(this.data.routes, [name]), certificates: without(this.data.certificates, [name]) }, [
      { kind: 'host', key: name },
      { kind: 'certificate', key: name },
    ])
  }

  #certify(name: Hostname): void {
    const version = this.data.version + 1
    const certificate = certificateOf(name, { chainPem: `chain ${version}`, version })
    this.#commit({ certificates: new Map(this.data.certificates).set(name, certificate) }, [{ kind: 'certificate', key: name }])
  }

  #challenge(name: Hostname): void {
    const { version, challenges } = this.data
    const others = challenges.filter(({ hostname }) => hostname !== name)
    const mine = this.#random.chance(0.5) ? [{ hostname: name, keyAuthorization: `key ${version}`, expiresAtMs: version }] : []
    this.#commit({ challenges: [...others, ...mine] }, [{ kind: 'challenge', key: name }])
  }

  /** A project goes with all that is its own. */
  #giveUp(id: string): void {
    const names = [...this.data.routes.values()].filter(({ projectId }) => projectId === id).map(({ hostname }) => hostname)
    const gone = names.flatMap((key): Change[] => [
      { kind: 'host', key },
      { kind: 'certificate', key },
    ])
    this.#commit(
      {
        projects: without(this.data.projects, [id]),
        routes: without(this.data.routes, names),
        certificates: without(this.data.certificates, names),
      },
      [{ kind: 'project', key: id }, ...gone],
    )
  }

  /** So that what comes next is divided among two readings. */
  #muchElse(): void {
    const count = CHANGES_PER_READ - this.#random.below(4)
    this.#commit(
      {},
      Array.from({ length: count }, (_, key) => ({ kind: 'token', key: String(key) }) as const),
    )
  }
}

/** What a visitor of that name must find: the claim's own route, else that of the wildcard over it. */
export function routeIn(data: Data, name: Hostname): Route | undefined {
  return ownRoute(data, name) ?? ownRoute(data, wildcardOver(name))
}

export function ownRoute({ routes, projects }: Data, name: Hostname): Route | undefined {
  const row = routes.get(name)
  const project = row && projects.get(row.projectId)
  return project && foundRoute(row, project)
}

function without<K, V>(from: ReadonlyMap<K, V>, keys: readonly K[]): Map<K, V> {
  return new Map([...from].filter(([key]) => !keys.includes(key)))
}

const lsnOf = (position: number) => `0/${position.toString(16)}`
