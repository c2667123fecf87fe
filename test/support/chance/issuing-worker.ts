import { sql } from 'kysely'
import { pino } from 'pino'
import { HTTP_01 } from '../../../src/certs/authority.ts'
import { claimDueRenewals, forgetReleasedCertificates } from '../../../src/core/certificates.ts'
import { closeDatabase, type Db, rows } from '../../../src/core/db.ts'
import { isOvertaken } from '../../../src/core/issuance-attempts.ts'
import { pruneBudget } from '../../../src/core/issuance-budget.ts'
import type { IssuanceLimit } from '../../../src/core/issuance-limits.ts'
import { pruneOrdersUnderWay } from '../../../src/core/orders-under-way.ts'
import { forgetFormerOwnCertificates, requestOwnCertificates } from '../../../src/core/own-certificates.ts'
import { DNS_PROBLEM } from '../../../src/core/probes.ts'
import { freeForgottenJobs, pruneFailedJobs, takeOverFromDead } from '../../../src/core/workers.ts'
import { saysDatabaseIsAway } from '../../../src/errors.ts'
import type { Hostname } from '../../../src/hostname.ts'
import { type IssueParts, issueCertificate } from '../../../src/jobs/issue.ts'
import { askAboutRenewals, type RenewalInfoParts } from '../../../src/jobs/renewal-info.ts'
import { orderFrom } from '../../../src/roles/authorities.ts'
import { createAuthorityHealth } from '../../../src/roles/authority-health.ts'
import { createIssuanceLedger } from '../../../src/roles/issuance-ledger.ts'
import { askForRenewalTime, outcomeOf } from '../../../src/roles/issuing.ts'
import { createKeptOrders } from '../../../src/roles/kept-orders.ts'
import type { Random } from '../../fuzz/random.ts'
import type { ClockedDatabase } from '../fake-clock.ts'
import type { ChanceDirectory } from './directories.ts'
import { type FailingPool, makeFailing } from './failing-pool.ts'

/** What the workers of a scene have in common. */
export type World = {
  clocked: ClockedDatabase
  random: Random
  directories: readonly ChanceDirectory[]
  limits: readonly IssuanceLimit[]
  ownHost: Hostname
  /** Whether the hostname's DNS leads here. */
  leads(hostname: Hostname): boolean
  /** Who stands still, until `go` is called. */
  standing: { worker: IssuingWorker; go(): void }[]
  onIssued(serial: string, projectId: string | null): void
  /** Something failed that was not made to. */
  onFault(fault: string): void
}

type Job = { id: string; hostname: Hostname }

const SILENT = pino({ level: 'silent' })
const ATTEMPTS_AT_ONCE = 4
const CONNECTIONS = 6
const RENEWALS_A_SWEEP_MAX = 100

/** How a key is sealed for the hostname: so that whoever looks can read it. */
export function sealed(keyPem: string, hostname: Hostname): string {
  return `${hostname}: ${keyPem}`
}

/**
 * All of a worker process that orders certificates, put together as worker.ts does, on a pool of its own that can fail. It stands still at each step
 * with an authority or the DNS. `isFrozen`: as a machine that is moved is; whoever cares for that lets nothing of it go on.
 */
export class IssuingWorker {
  readonly id: string
  readonly pool: FailingPool
  readonly attempts = new Set<Hostname>()
  isDead = false
  isFrozen = false
  readonly #world: World
  readonly #db: Db
  readonly #issue: IssueParts
  readonly #info: RenewalInfoParts
  readonly #renewals = {}

  constructor(id: string, world: World) {
    this.id = id
    this.#world = world
    this.#db = world.clocked.connect(CONNECTIONS)
    this.pool = makeFailing(this.#db.pool, world.random)
    const authorities = world.directories.map((directory) => directory.for(this))
    this.#issue = this.#issueParts(authorities)
    this.#info = { db: this.#db, log: SILENT, renewalTime: (held, signal) => askForRenewalTime(authorities, held, signal) }
  }

  /** Until it is let go on, or dies. */
  async pass(): Promise<void> {
    if (!this.isDead) await new Promise<void>((go) => this.#world.standing.push({ worker: this, go }))
  }

  /** As if it had said so all the time since it was heard first. */
  async sayAlive(): Promise<void> {
    const said = sql`insert into workers (id, host, pid) values (${this.id}, 'here', 1) on conflict (id) do update set heartbeat_at = now()`
    await this.#try(() => rows(this.#db, said))
  }

  async takeOver(): Promise<void> {
    await this.#try(() => takeOverFromDead(this.#db, this))
  }

  async sweep(): Promise<void> {
    const db = this.#db
    void this.#try(() => askAboutRenewals(this.#info)) // it stands still
    const sweeps = [
      () => requestOwnCertificates(db, [this.#world.ownHost]),
      () => claimDueRenewals(db, RENEWALS_A_SWEEP_MAX, this.#renewals),
      () => freeForgottenJobs(db),
      () => pruneFailedJobs(db),
      () => pruneBudget(db),
      () => pruneOrdersUnderWay(db),
      () => forgetReleasedCertificates(db),
      () => forgetFormerOwnCertificates(db, [this.#world.ownHost]),
    ]
    for (const sweep of sweeps) await this.#try(sweep)
  }

  /** Takes a job as the queue gives them out, if there is one. It goes on by itself. */
  async work(): Promise<void> {
    if (this.attempts.size >= ATTEMPTS_AT_ONCE) return
    const [job] = await rows(
      this.#world.clocked.db,
      sql<Job>`
        update graphile_worker._private_jobs set locked_at = now(), locked_by = ${this.id}, attempts = attempts + 1 where id = (
          select j.id from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
          where t.identifier = 'issue' and j.locked_at is null and j.run_at <= now() and j.attempts < j.max_attempts order by j.run_at, j.id limit 1)
        returning id, payload->>'hostname' as hostname`,
    )
    if (job) void this.#do(job)
  }

  /** Nothing that it does from now on reaches anybody. */
  die(): void {
    this.isDead = true
    this.pool.cut()
  }

  async close(): Promise<void> {
    await closeDatabase(this.#db).catch(() => {})
  }

  async #do({ id, hostname }: Job): Promise<void> {
    this.attempts.add(hostname)
    const error = await issueCertificate(this.#issue, { hostname }, this.id).then(
      () => undefined,
      (caught: unknown) => caught ?? 'failed',
    )
    this.attempts.delete(hostname)
    if (this.isDead) return
    if (error !== undefined && !saysDatabaseIsAway(error)) this.#world.onFault(`${hostname}: ${String(error)}`)
    const end =
      error === undefined
        ? sql`delete from graphile_worker._private_jobs where id = ${id}`
        : sql`update graphile_worker._private_jobs set locked_at = null, locked_by = null,
            run_at = greatest(run_at, now()) + interval '1 second' * exp(least(attempts, 10)) where id = ${id} and locked_by = ${this.id}`
    await rows(this.#world.clocked.db, end) // which the queue tries again until it is done
  }

  #issueParts(authorities: Parameters<typeof orderFrom>[0]): IssueParts {
    const { clocked, random, limits, leads, onIssued } = this.#world
    const db = this.#db
    const ledger = createIssuanceLedger(db, SILENT, { limits })
    const seal = (keyPem: string, hostname: Hostname) => Buffer.from(sealed(keyPem, hostname))
    const open = (bytes: Buffer, hostname: Hostname) => bytes.toString().slice(sealed('', hostname).length)
    const kept = createKeptOrders(db, { seal, open }, SILENT)
    const health = createAuthorityHealth({ log: SILENT, nowMs: () => clocked.clock.now().getTime(), random: () => random.next() })
    const solvers = [HTTP_01, { ...HTTP_01, type: 'tls-alpn-01' as const }]
    return {
      ...{ db, log: SILENT, limits, directories: authorities.map(({ name }) => name), sealKey: seal, now: () => clocked.clock.now() },
      ...{ announce() {}, count() {} },
      precheck: async (hostname) => {
        await this.pass()
        return leads(hostname) ? { kind: 'go' } : { kind: 'no', problem: { type: DNS_PROBLEM }, sentence: 'Its DNS leads elsewhere.' }
      },
      order: (hostname, { permission, held }) => {
        const replaced = held?.directory ? { directory: held.directory, certId: held.chainPem } : undefined
        const overtaken = () => isOvertaken(db, hostname, permission).catch(() => false)
        return outcomeOf(async () => {
          const terms = { permission, ledger, kept, health, replaced, solvers, isOvertaken: overtaken }
          const issued = await orderFrom(authorities, hostname, terms)
          onIssued(issued.serial, permission.projectId)
          return issued
        })
      },
    }
  }

  /** The next one mends it. */
  async #try(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!saysDatabaseIsAway(error)) this.#world.onFault(String((error as Error).stack))
    }
  }
}
