import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Random } from '../../test/fuzz/random.ts'
import { ChanceDirectory, type Leaf } from '../../test/support/chance/directories.ts'
import { IssuingWorker, sealed, type World } from '../../test/support/chance/issuing-worker.ts'
import { type ClockedDatabase, createClockedDatabase } from '../../test/support/fake-clock.ts'
import { adminUrl } from '../../test/support/postgres.ts'
import { seedsToTry, upTo } from '../../test/support/seeds.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { requestIssuance } from '../core/certificates.ts'
import type { Db } from '../core/db.ts'
import { removeDomain } from '../core/domains.ts'
import { importCertificate, orderInsteadOfImported } from '../core/imported-certificate.ts'
import type { IssuanceLimit } from '../core/issuance-limits.ts'
import { requestOwnCertificates } from '../core/own-certificates.ts'
import { findProbeTarget, recordProbes } from '../core/probes.ts'
import type { Project } from '../core/projects.ts'
import { requestRenewal } from '../core/renewal-request.ts'
import { removeWorker } from '../core/workers.ts'
import { ServiceError } from '../errors.ts'
import { type Hostname, parseHostname } from '../hostname.ts'

const START = new Date('2027-01-01T00:00:00Z')
const [SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS] = [1_000, 60_000, 3_600_000, 86_400_000]
const STEPS = 800
const WORKERS = 2
const OWN_HOST = parseHostname('edge.namesake.test')
const NAMES = ['a.one.com', 'b.one.com', 'c.one.com', 'd.one.com', 'e.one.com', 'a.two.com'].map((name) => parseHostname(name))
const LIFETIME_MS = 30 * DAY_MS
const LIMITS: readonly IssuanceLimit[] = [
  { scope: 'account', max: 6, windowS: 3 * 3_600 },
  { scope: 'domain', max: 3, windowS: 7 * 86_400 },
  { scope: 'names', max: 2, windowS: 7 * 86_400 },
  { scope: 'failures', max: 2, windowS: 3_600 },
]

/** `told`: how often the edges have been told to look at it. */
type Served = { hostname: Hostname; project: string | null; serial: string; key: Buffer; notAfter: Date; told: number }

let clocked: ClockedDatabase
let db: Db
beforeAll(async () => {
  clocked = await createClockedDatabase(adminUrl(), START, 4)
  db = clocked.db
})
afterAll(() => clocked.drop())

/** Two projects and their customers, two authorities, and workers that fail in every way. */
class Scene {
  readonly #random: Random
  readonly #world: World
  readonly #directories: ChanceDirectory[]
  readonly #projects: Project[] = []
  readonly #holders = new Map<Hostname, Project>()
  readonly #leads = new Set<Hostname>([OWN_HOST])
  readonly #workers: IssuingWorker[] = []
  readonly #dead: IssuingWorker[] = []
  readonly #projectOf = new Map<string, string | null>()
  readonly #served = new Map<Hostname, Served>()
  /** Imported certificates that nothing may replace, and until when. */
  readonly #brought = new Map<Hostname, Date>()
  readonly #faults: string[] = []
  #workersMade = 0
  #imported = 0

  constructor(random: Random) {
    this.#random = random
    const leads = (hostname: Hostname) => this.#leads.has(hostname)
    const authority = { random, now: () => this.#now(), limits: LIMITS, lifetimeMs: LIFETIME_MS, canValidate: leads }
    this.#directories = ['one', 'two'].map((name) => new ChanceDirectory({ ...authority, name: `https://${name}.test/acme` }))
    this.#world = {
      ...{ clocked, random, directories: this.#directories, limits: LIMITS, ownHost: OWN_HOST, leads, standing: [] },
      onIssued: (serial, projectId) => this.#projectOf.set(serial, projectId),
      onFault: (fault) => this.#faults.push(fault),
    }
  }

  async begin(): Promise<void> {
    await db.pool.query(`truncate certificates, domains, probes, issuance_orders, issuance_blocks, orders_under_way, order_history, changes,
      workers, challenges, graphile_worker._private_jobs cascade`)
    this.#projects.push(await addProject(db), await addProject(db))
    await requestOwnCertificates(db, [OWN_HOST])
    while (this.#workers.length < WORKERS) await this.#startWorker()
  }

  async move(): Promise<void> {
    this.#tick(1 + this.#random.below(20))
    await this.#someAct()()
    if (this.#random.chance(0.7)) await this.#quiet()
    if (this.#random.chance(0.2)) await this.#check()
  }

  /** Everything works again, and whoever claimed a hostname has its DNS right: within twice the longest of the limits all have their certificates, and keep them. */
  async finish(): Promise<void> {
    for (const directory of this.#directories) directory.heal()
    for (const worker of this.#workers) {
      worker.pool.mend()
      worker.isFrozen = false
    }
    for (const [hostname, project] of this.#holders) await this.#lead(hostname, project)
    for (let i = 0; i < 10; i += 1) await this.#goOn(MINUTE_MS)
    for (let i = 0; i < 12; i += 1) await this.#goOn(2 * HOUR_MS)
    for (let i = 0; i < 28; i += 1) await this.#goOn(DAY_MS / 2)
    for (let i = 0; i < 20; i += 1) {
      await this.#checkAllServed()
      await this.#goOn(2 * DAY_MS)
    }
    await this.#checkNothingLeft()
  }

  async end(): Promise<void> {
    for (const worker of [...this.#workers]) this.#bury(worker)
    await Promise.all(this.#dead.map((worker) => worker.close()))
  }

  /** By weight. */
  #someAct(): () => unknown {
    const random = this.#random
    const acts: readonly [number, () => unknown][] = [
      [60, () => this.#letGo()],
      [25, () => this.#someWorker()?.work()],
      [10, () => this.#pass(random.below(30) * SECOND_MS)],
      [3, () => this.#pass(random.below(20) * MINUTE_MS)],
      [1, () => this.#pass(random.below(30) * HOUR_MS)],
      [0.2, () => this.#pass(random.below(20) * DAY_MS)],
      [8, () => this.#someWorker()?.sweep()],
      [14, () => this.#somebodyActs()],
      [3, () => this.#someWorker()?.pool.fail()],
      [2, () => this.#someWorker()?.pool[random.chance(0.2) ? 'cut' : 'mend']()],
      [2, () => random.pick(this.#directories).set(random.chance(0.2) ? 'away' : 'there')],
      [1, () => this.#kill()],
      [2, () => this.#freezeOrThaw()],
    ]
    let place = random.next() * acts.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, act] of acts) {
      if (place < weight) return act
      place -= weight
    }
    return acts[0]![1]
  }

  #now(): Date {
    return clocked.clock.now()
  }

  /** What the clock says is no moment's twice. */
  #tick(ms: number): void {
    clocked.clock.set(new Date(this.#now().getTime() + ms))
  }

  async #pass(ms: number): Promise<void> {
    this.#tick(ms)
    const awake = this.#workers.filter(({ isFrozen }) => !isFrozen)
    for (const worker of awake) await worker.sayAlive()
    for (const worker of awake) await worker.takeOver()
  }

  async #startWorker(): Promise<void> {
    this.#workersMade += 1
    const worker = new IssuingWorker(`worker-${this.#workersMade}`, this.#world)
    this.#workers.push(worker)
    await worker.sayAlive()
  }

  #letGo(): void {
    const { standing } = this.#world
    const ready = standing.filter(({ worker }) => !worker.isFrozen)
    if (ready.length === 0) return
    const chosen = this.#random.pick(ready)
    standing.splice(standing.indexOf(chosen), 1)
    chosen.go()
  }

  #someWorker(): IssuingWorker | undefined {
    const awake = this.#workers.filter(({ isFrozen }) => !isFrozen)
    return awake.length > 0 ? this.#random.pick(awake) : undefined
  }

  async #kill(): Promise<void> {
    const worker = this.#random.pick(this.#workers)
    this.#bury(worker)
    if (this.#random.chance(0.2)) await removeWorker(db, worker.id) // as one whose last word arrives
    await this.#startWorker()
  }

  #bury(worker: IssuingWorker): void {
    worker.die()
    this.#dead.push(...this.#workers.splice(this.#workers.indexOf(worker), 1))
    const { standing } = this.#world
    for (const each of standing.filter((one) => one.worker === worker)) {
      standing.splice(standing.indexOf(each), 1)
      each.go()
    }
  }

  #freezeOrThaw(): void {
    const worker = this.#random.pick(this.#workers)
    worker.isFrozen = !worker.isFrozen && this.#random.chance(0.4)
  }

  async #somebodyActs(): Promise<void> {
    const random = this.#random
    const hostname = random.pick(NAMES)
    const holder = this.#holders.get(hostname)
    if (!holder) {
      const project = random.pick(this.#projects)
      await claim(db, project, hostname)
      this.#holders.set(hostname, project)
      return
    }
    const act = random.pick([
      () => this.#lead(hostname, holder),
      () => this.#lead(hostname, holder),
      () => this.#lead(hostname, holder),
      async () => void this.#leads.delete(hostname),
      () => requestIssuance(db, hostname),
      () => requestRenewal(db, random.chance(0.2) ? OWN_HOST : hostname),
      () => (random.chance(0.4) ? this.#remove(hostname, holder) : undefined),
      () => (random.chance(0.3) ? this.#import(hostname) : undefined),
      () => this.#orderInsteadOfImported(hostname),
    ])
    await act()
  }

  /** The DNS is right, and a check has seen it. */
  async #lead(hostname: Hostname, project: Project): Promise<void> {
    this.#leads.add(hostname)
    const probe = await findProbeTarget(db, project, hostname)
    const report = { state: 'verified' as const, sentence: '', expected: [], found: [], warnings: [], checkedAt: START.toISOString() }
    await recordProbes(db, [{ probe, report, nextProbeInS: 7 * 86_400 }])
  }

  async #remove(hostname: Hostname, holder: Project): Promise<void> {
    await removeDomain(db, holder, hostname)
    this.#holders.delete(hostname)
    this.#brought.delete(hostname)
  }

  async #import(hostname: Hostname): Promise<void> {
    this.#imported += 1
    const serial = `imported ${this.#imported}`
    const notBefore = this.#now()
    const notAfter = new Date(notBefore.getTime() + (1 + this.#random.below(10)) * DAY_MS)
    const sealedKey = Buffer.from('brought')
    await importCertificate(db, hostname, { chainPem: serial, sealedKey, issuer: 'CN=Elsewhere', serial, notBefore, notAfter })
    this.#brought.set(hostname, notAfter)
  }

  async #orderInsteadOfImported(hostname: Hostname): Promise<void> {
    try {
      await orderInsteadOfImported(db, hostname)
      this.#brought.delete(hostname)
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'domain_not_found')) throw error // it has none that was brought
    }
  }

  /** Until what has been let go on has come as far as it goes by itself. */
  async #quiet(): Promise<void> {
    for (let calm = 0, turns = 1; calm < 5 && turns < 2_000; turns += 1) {
      await (turns % 20 === 0 ? pause(1) : turn())
      calm = this.#workers.some(({ pool }) => pool.underWay() > 0) ? 0 : calm + 1
    }
  }

  /** So much later, all that there was to do until then has been done. */
  async #goOn(ms: number): Promise<void> {
    const { standing } = this.#world
    await this.#pass(ms)
    for (const worker of this.#workers) await worker.sweep()
    for (let idle = 0; idle < 2; ) {
      for (const worker of this.#workers) await worker.work()
      await this.#quiet()
      const gone = standing.splice(0)
      for (const { go } of gone) go()
      await this.#quiet()
      this.#tick(1)
      idle = gone.length === 0 && this.#workers.every(({ attempts }) => attempts.size === 0) ? idle + 1 : 0
    }
    await this.#check()
  }

  /** What must be so at every moment. */
  async #check(): Promise<void> {
    expect(this.#faults).toEqual([])
    expect(this.#directories.flatMap(({ violations }) => violations)).toEqual([])
    const served = await this.#readServed()
    for (const one of served) if (!one.serial.startsWith('imported')) this.#checkOrdered(one)
    for (const [hostname, until] of this.#brought) {
      if (until > this.#now()) expect(served.find((one) => one.hostname === hostname)?.serial).toMatch('imported')
    }
    for (const one of served) {
      const before = this.#served.get(one.hostname)
      if (before?.serial !== one.serial) expect(one.told, `the edges are told of ${one.serial}`).toBeGreaterThan(before?.told ?? 0)
      this.#served.set(one.hostname, one)
    }
  }

  async #readServed(): Promise<Served[]> {
    const { rows } = await db.pool.query<Served>(
      `select hostname, project_id as project, serial, sealed_key as key, not_after as "notAfter",
        (select count(*)::int from changes where kind = 'certificate' and key = hostname) as told
      from certificates where chain_pem is not null`,
    )
    return rows
  }

  /** It is the hostname's, with its own key, of whoever ordered it, and not older than the one before. */
  #checkOrdered({ hostname, project, serial, key }: Served): void {
    const leaf = this.#leafOf(serial)!
    expect([hostname, key.toString(), project]).toEqual([leaf.hostname, sealed(leaf.keyPem, leaf.hostname), this.#projectOf.get(serial)])
    const before = this.#leafOf(this.#served.get(hostname)?.serial)
    if (before) expect(leaf.notBefore.getTime(), `${serial} instead of ${before.serial}`).toBeGreaterThanOrEqual(before.notBefore.getTime())
  }

  #leafOf(serial: string | undefined): Leaf | undefined {
    return this.#directories.map(({ issued }) => issued.get(serial ?? '')).find(Boolean)
  }

  async #checkAllServed(): Promise<void> {
    const served = (await this.#readServed()).filter(({ notAfter }) => notAfter > this.#now())
    const names = served.map(({ hostname, project }) => `${hostname} of ${project}`)
    const holders: [Hostname, string | null][] = [
      [OWN_HOST, null],
      ...[...this.#holders].map(([name, { id }]): [Hostname, string] => [name, id]),
    ]
    const missing = holders.filter(([hostname, project]) => !names.includes(`${hostname} of ${project}`))
    if (missing.length === 0) return
    const { rows } = await db.pool.query('select * from certificates where hostname = any($1)', [missing.map(([hostname]) => hostname)])
    throw new Error(`on ${this.#now().toISOString()} without a certificate: ${missing.join(' and ')}\n${JSON.stringify(rows, null, 1)}`)
  }

  async #checkNothingLeft(): Promise<void> {
    const count = async (from: string) => Number((await db.pool.query(`select count(*) as count from ${from}`)).rows[0].count)
    expect({
      jobs: await count(
        "graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id where t.identifier = 'issue'",
      ),
      openOrders: await count('orders_under_way'),
      leases: await count('certificates where lease_until > now()'),
      attempts: await count('order_history where ended_at is null'),
      waiting: await count('certificates where waits_for is not null'),
    }).toEqual({ jobs: 0, openOrders: 0, leases: 0, attempts: 0, waiting: 0 })
  }
}

async function play(seed: number): Promise<void> {
  const scene = new Scene(new Random(seed))
  try {
    await scene.begin()
    for (let step = 0; step < STEPS; step += 1) await scene.move()
    await scene.finish()
  } finally {
    await scene.end()
  }
}

test.each(seedsToTry(upTo(3)))(
  'whatever fails meanwhile, every hostname gets its certificate and keeps one, and no limit is exceeded (seed %i)',
  play,
  120_000,
)
