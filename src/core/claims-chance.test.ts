import { afterAll, beforeAll, expect, test } from 'vitest'
import { Random } from '../../test/fuzz/random.ts'
import { type ClockedDatabase, createClockedDatabase } from '../../test/support/fake-clock.ts'
import { adminUrl } from '../../test/support/postgres.ts'
import { seedsToTry, upTo } from '../../test/support/seeds.ts'
import { addProject, CLAIM_RULES, PROJECT_RULES } from '../../test/support/tenants.ts'
import { ServiceError } from '../errors.ts'
import { type Hostname, isWildcard, parseClaimName, wildcardOver } from '../hostname.ts'
import { registerDomains } from './bulk-claims.ts'
import {
  beginIssuance,
  claimDueRenewals,
  forgetReleasedCertificates,
  recordCertificate,
  recordIssuanceFailure,
  requestIssuance,
} from './certificates.ts'
import { type Cursor, compactChanges, currentCursor, pruneChanges, readChanges } from './changes.ts'
import { createConnectLink, pruneConnectLinks } from './connect-links.ts'
import type { Db } from './db.ts'
import type { DnsState } from './dns-report.ts'
import { findDomainNews, findStatuses } from './domain-status.ts'
import { changeMetadata, findDomain, forgetReleasedClaims, listDomains, registerDomain, removeDomain } from './domains.ts'
import { importCertificate, orderInsteadOfImported } from './imported-certificate.ts'
import { findLiveCheck, findMissingEdges, recordLiveCheck, recordLiveWait } from './live-checks.ts'
import { claimDueProbes, type DueProbe, probeSoon, recordProbes, watchDomain } from './probes.ts'
import { deleteProject, type Project, updateProject } from './projects.ts'
import { requestRenewal } from './renewal-request.ts'
import { claimDueRenewalInfo, recordRenewalTime } from './renewals.ts'
import { type CertificateRow, loadCertificates, loadRouteRows, type RouteRow } from './routes.ts'

const START = new Date('2027-01-01T00:00:00Z')
const [SECOND_MS, HOUR_MS, DAY_MS] = [1_000, 3_600_000, 86_400_000]
const ROUNDS = 120
const AT_ONCE_MAX = 8
const PROJECTS = 3
const RULES = { ...CLAIM_RULES, wildcards: true }
const NAMES = ['a.one.com', 'b.one.com', '*.one.com', 'x.a.one.com', 'a.two.com', '*.two.com'].map(parseClaimName)
const STATES: readonly DnsState[] = ['verified', 'verified', 'verified', 'absent', 'wrong-target', 'unknown', 'servers-disagree']

/** A claim as its row tells of it; times in milliseconds. */
type Claim = { hostname: Hostname; project: string; created: number; verified: number | null; deleted: number | null }

let clocked: ClockedDatabase
let db: Db
beforeAll(async () => {
  clocked = await createClockedDatabase(adminUrl(), START, AT_ONCE_MAX)
  db = clocked.db
})
afterAll(() => clocked.drop())

/** Whoever works on an installation's hostnames, all at once: vendors, workers, visitors and daily jobs; and one who follows what they change. */
class Scene {
  readonly #random: Random
  #projects: Project[] = []
  #probes: DueProbe[] = []
  #removals = 0
  #issued = 0
  #cursor!: Cursor
  readonly #routes = new Map<Hostname, RouteRow>()
  readonly #certificates = new Map<Hostname, CertificateRow>()
  readonly #faults: unknown[] = []

  constructor(random: Random) {
    this.#random = random
  }

  async begin(): Promise<void> {
    await db.pool.query(`truncate certificates, domains, probes, connect_links, activity, issuance_orders, issuance_blocks, orders_under_way,
      order_history, changes, graphile_worker._private_jobs cascade`)
    for (let i = 0; i < PROJECTS; i += 1) this.#projects.push(await addProject(db))
    this.#cursor = await currentCursor(db)
  }

  async round(): Promise<void> {
    const random = this.#random
    this.#pass(random.pick([1, SECOND_MS, 30 * SECOND_MS, HOUR_MS, DAY_MS, 5 * DAY_MS, 12 * DAY_MS]) * random.next())
    const acts = Array.from({ length: 1 + random.below(AT_ONCE_MAX) }, () => random.pick(this.#acts))
    await Promise.all(acts.map((act) => this.#tried(act)))
    expect(this.#faults).toEqual([])
    await this.#follow()
    await this.#check()
  }

  #pass(ms: number): void {
    clocked.clock.set(new Date(clocked.clock.now().getTime() + Math.ceil(ms)))
  }

  /** What it is told in words of its own is no fault, as whoever asks for what has just gone is told. */
  async #tried(act: () => Promise<unknown>): Promise<void> {
    try {
      await act()
    } catch (error) {
      if (!(error instanceof ServiceError)) this.#faults.push(error)
    }
  }

  readonly #name = () => this.#random.pick(NAMES)
  readonly #project = () => this.#random.pick(this.#projects)

  /** The more often, the more there are. */
  readonly #acts: readonly (() => Promise<unknown>)[] = [
    ...Array.from({ length: 8 }, () => () => registerDomain(db, this.#project(), { hostname: this.#name(), metadataJson: '{}' }, RULES)),
    ...Array.from({ length: 4 }, () => () => this.#remove(this.#project(), this.#name())),
    ...Array.from({ length: 5 }, () => () => this.#takeProbes()),
    ...Array.from({ length: 5 }, () => () => this.#recordProbes()),
    ...Array.from({ length: 3 }, () => () => this.#issue(this.#name())),
    () => this.#claimMany(this.#project()),
    () => changeMetadata(db, this.#project(), { hostname: this.#name(), metadataJson: `{"n":${this.#random.below(9)}}` }),
    () => watchDomain(db, this.#project(), this.#name(), { forS: 60 }),
    () => probeSoon(db, this.#name()),
    () => requestIssuance(db, this.#name()),
    () => requestRenewal(db, this.#name()),
    () => claimDueRenewals(db, 10),
    () => this.#import(this.#name()),
    () => orderInsteadOfImported(db, this.#name()),
    () => this.#lookLive(this.#name()),
    () => this.#askAboutRenewals(),
    () => createConnectLink(db, this.#project(), this.#name()),
    () => updateProject(db, this.#project().slug, { upstreamUrl: `https://app-${this.#random.below(9)}.vendor.test` }, PROJECT_RULES),
    () => this.#replaceProject(),
    () => listDomains(db, this.#project(), {}),
    () => findDomain(db, this.#project(), this.#name(), CLAIM_RULES),
    () => findStatuses(db, this.#project().id, NAMES),
    () =>
      findDomainNews(
        db,
        this.#projects.map(({ id }) => id),
        NAMES,
      ),
    () => forgetReleasedClaims(db),
    () => forgetReleasedCertificates(db),
    () => pruneConnectLinks(db),
    () => compactChanges(db),
    () => pruneChanges(db, 24),
  ]

  async #remove(project: Project, hostname: Hostname): Promise<void> {
    await removeDomain(db, project, hostname)
    this.#removals += 1
  }

  async #claimMany(project: Project): Promise<void> {
    const texts = Array.from({ length: 3 }, this.#name)
    const caller = { actor: { kind: 'operator' as const }, isWanted: () => true, async requireAccess() {} }
    await registerDomains(db, project, { texts, rules: RULES, claimed() {}, ...caller })
  }

  async #takeProbes(): Promise<void> {
    this.#probes.push(
      ...(await claimDueProbes(db, {
        line: this.#random.pick(['answered', 'unanswered'] as const),
        limit: 1 + this.#random.below(5),
        leaseS: 60,
      })),
    )
  }

  /** Also what was looked up long ago, in any order, and twice. */
  async #recordProbes(): Promise<void> {
    const random = this.#random
    const probes = this.#probes.filter(() => random.chance(0.5))
    if (random.chance(0.8)) this.#probes = this.#probes.filter((probe) => !probes.includes(probe))
    const results = probes.map((probe) => {
      const found = random.pick(STATES)
      const state = found === 'verified' && probe.proofNeeded && random.chance(0.8) ? 'proof-needed' : found
      const delegation = { name: '', value: '', state: random.pick(['present', 'absent', 'unknown'] as const), sentence: '' }
      const warnings = random.chance(0.2) ? [{ kind: random.pick(['caa-forbids', 'aaaa-elsewhere'] as const), sentence: '' }] : []
      const report = { state, sentence: state, expected: [], found: [], warnings, checkedAt: START.toISOString(), delegation }
      return { probe, report, nextProbeInS: 1 + random.below(3_600) }
    })
    await recordProbes(db, results)
  }

  #certificate() {
    this.#issued += 1
    const now = clocked.clock.now().getTime()
    const [notBefore, notAfter, renewAt] = [0, 30, 20].map((days) => new Date(now + days * DAY_MS)) as [Date, Date, Date]
    const serial = String(this.#issued)
    return { chainPem: `chain ${serial}`, sealedKey: Buffer.from(serial), issuer: 'CN=Test', serial, notBefore, notAfter, renewAt }
  }

  async #issue(hostname: Hostname): Promise<void> {
    const begun = await beginIssuance(db, hostname)
    if (begun.kind === 'no') return
    if (this.#random.chance(0.7)) await recordCertificate(db, hostname, this.#certificate(), begun)
    else await recordIssuanceFailure(db, hostname, { problem: { type: 'about:blank' }, sentence: 'it failed' }, begun)
  }

  async #import(hostname: Hostname): Promise<void> {
    await importCertificate(db, hostname, this.#certificate(), this.#random.chance(0.5) ? this.#project() : undefined)
  }

  async #lookLive(hostname: Hostname): Promise<void> {
    const check = await findLiveCheck(db, hostname)
    if (!check) return
    const missing = await findMissingEdges(db, check, 60)
    if (missing.length > 0) await recordLiveWait(db, check, missing)
    else await recordLiveCheck(db, check, this.#random.chance(0.5) ? { kind: 'seen' } : { kind: 'not-seen', sentence: 'no' })
  }

  async #askAboutRenewals(): Promise<void> {
    for (const held of await claimDueRenewalInfo(db, 10, 300)) {
      const renewAt = new Date(clocked.clock.now().getTime() + this.#random.below(20) * DAY_MS)
      const wish = { directory: 'local', from: renewAt }
      await recordRenewalTime(db, held, { renewAt, askAgainInS: 3_600, wish: this.#random.pick([wish, 'none', 'as-before'] as const) })
    }
  }

  async #replaceProject(): Promise<void> {
    const project = this.#project()
    await deleteProject(db, project)
    this.#projects = [...this.#projects.filter((each) => each !== project), await addProject(db)]
  }

  /** As an edge machine's follower: each key that the feed names is read anew, and nothing else. */
  async #follow(): Promise<void> {
    const reading = await readChanges(db, this.#cursor, 10_000)
    if ('kind' in reading) {
      expect(reading).toEqual({ kind: 'snapshot-needed' })
      this.#cursor = await currentCursor(db)
      await this.#readAnew(NAMES, NAMES)
      return
    }
    this.#cursor = reading.cursor
    const keysOf = (kind: string) => reading.changes.filter((change) => change.kind === kind).map(({ key }) => key as Hostname)
    await this.#readAnew(keysOf('host'), keysOf('certificate'))
  }

  async #readAnew(hosts: readonly Hostname[], certified: readonly Hostname[]): Promise<void> {
    for (const hostname of hosts) this.#routes.delete(hostname)
    for (const route of await loadRouteRows(db, hosts)) this.#routes.set(route.hostname, route)
    for (const hostname of certified) this.#certificates.delete(hostname)
    for (const certificate of await loadCertificates(db, certified)) this.#certificates.set(certificate.hostname, certificate)
  }

  /** What must be so whenever nobody is at work. */
  async #check(): Promise<void> {
    const claims = await readClaims()
    const live = claims.filter(({ deleted }) => deleted === null)
    await this.#checkProbes()
    await this.#checkActivity(live)
    const now = clocked.clock.now().getTime()
    for (const claim of live) if (claim.created === now) this.#checkFamily(claim, claims)
    await this.#checkCopy(live, claims)
  }

  async #checkProbes(): Promise<void> {
    const { rows } = await db.pool.query(`select d.hostname, d.deleted_at is null as live, p.domain_id is not null as probed
      from domains d full join probes p on p.domain_id = d.id where (d.deleted_at is null) <> (p.domain_id is not null) or d.id is null`)
    expect(rows, 'each claim has its probe, and nothing else has').toEqual([])
  }

  async #checkActivity(live: readonly Claim[]): Promise<void> {
    const { rows } = await db.pool.query<{ held: string; count: number }>(`
      select subject || ' of ' || project_id as held, sum(case action when 'domain.claimed' then 1 else -1 end)::int as count from activity
      where action in ('domain.claimed', 'domain.removed') group by subject, project_id`)
    const told = rows.filter(({ count }) => count !== 0)
    expect(told.map(({ held }) => held).sort()).toEqual(live.map(({ hostname, project }) => `${hostname} of ${project}`).sort())
    expect(told.every(({ count }) => count === 1)).toBe(true)
    const removed = await db.pool.query(`select count(*)::int as count from activity where action = 'domain.removed'`)
    expect(removed.rows[0].count).toBe(this.#removals)
  }

  /** A wildcard and the names under it are one project's, unless the earlier had nothing to show when the later came. */
  #checkFamily(later: Claim, claims: readonly Claim[]): void {
    for (const earlier of claims) {
      const isOther = earlier.deleted === null && earlier.project !== later.project && earlier.created <= later.created
      if (!isOther || !(covers(earlier.hostname, later.hostname) || covers(later.hostname, earlier.hostname))) continue
      const isOrdered = earlier.created < later.created // of two at the same moment either may have been there before the other
      const isKeptOut = keepsOut(earlier, claims, later.created) && (isOrdered || keepsOut(later, claims, later.created))
      expect({ earlier, later, isKeptOut }).toMatchObject({ isKeptOut: false })
    }
  }

  /** What is told of is all that has changed, but for needs of a proof that time alone begins and ends: those are told with the next look at DNS. */
  async #checkCopy(live: readonly Claim[], claims: readonly Claim[]): Promise<void> {
    const now = clocked.clock.now().getTime()
    const routes = await loadRouteRows(db, NAMES)
    expect(routes.map(({ hostname }) => hostname).sort()).toEqual(live.map(({ hostname }) => hostname).sort())
    for (const route of routes) {
      const claim = live.find(({ hostname }) => hostname === route.hostname)!
      const owes = claim.verified === null && (isWildcard(claim.hostname) || owesProof(claim, claims, now))
      expect({ claim, owes: route.proofNeeded }).toEqual({ claim, owes })
      expect({ ...this.#routes.get(route.hostname), proofNeeded: null }).toEqual({ ...route, proofNeeded: null })
    }
    const inHand = (certificates: Iterable<CertificateRow>) =>
      [...certificates].filter(({ chainPem }) => chainPem !== null).map(({ hostname, chainPem, version }) => [hostname, chainPem, version])
    expect(inHand(this.#certificates.values()).sort()).toEqual(inHand(await loadCertificates(db, NAMES)).sort())
    expect(this.#routes.size).toBe(routes.length)
  }
}

async function readClaims(): Promise<Claim[]> {
  const { rows } = await db.pool.query<Claim>(
    `select hostname, project_id as project, extract(epoch from created_at)::float8 * 1000 as created,
      extract(epoch from verified_at)::float8 * 1000 as verified, extract(epoch from deleted_at)::float8 * 1000 as deleted from domains`,
  )
  return rows
}

const covers = (wildcard: Hostname, name: Hostname) => isWildcard(wildcard) && !isWildcard(name) && wildcardOver(name) === wildcard

/** While it is verified or in its first day, which no claim has of a name that was given up unverified within 30 days (decision 0051). */
function keepsOut({ hostname, created, verified }: Claim, claims: readonly Claim[], at: number): boolean {
  if (verified !== null && verified < at) return true
  const wasGivenUp = claims.some(
    (other) => other.hostname === hostname && other.verified === null && other.deleted !== null && other.deleted > at - 30 * DAY_MS,
  )
  return created > at - DAY_MS && !wasGivenUp
}

/** As design and decisions 0014, 0015 and 0051 have it, of a claim that is not verified. */
function owesProof(claim: Claim, claims: readonly Claim[], now: number): boolean {
  const given = claims.filter(({ deleted }) => deleted !== null && deleted > now - 30 * DAY_MS)
  const { hostname, project, created } = claim
  const byOthers = given.filter((other) => other.project !== project)
  if (byOthers.some((other) => other.hostname === hostname || covers(other.hostname, hostname) || covers(hostname, other.hostname)))
    return true
  if (now >= created + 7 * DAY_MS && now <= created + 37 * DAY_MS) return true
  const own = given.filter((other) => other.hostname === hostname && other.project === project).sort((a, b) => a.deleted! - b.deleted!)
  const first = own.find(({ verified }) => verified === null)
  return first !== undefined && first.created < now - 7 * DAY_MS && own.at(-1)!.verified === null
}

async function play(seed: number): Promise<void> {
  const scene = new Scene(new Random(seed))
  await scene.begin()
  for (let i = 0; i < ROUNDS; i += 1) await scene.round()
}

test.each(seedsToTry(upTo(3)))(
  'whoever works on hostnames at once, each is one project’s, is looked at, and is told of (seed %i)',
  play,
  120_000,
)
