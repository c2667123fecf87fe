import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { locateData } from '../data-directory.ts'
import { pause } from '../lib/back-off.ts'
import { isStill, type ProcessIdentity } from '../processes.ts'
import { findServiceUser } from '../service-user.ts'
import { findSupervisor } from '../start-lock.ts'
import { type DeployRecord, readRecord, type SupervisorRecord } from '../supervisor-record.ts'
import { show } from './output.ts'

type Options = { json?: boolean }
type Wish = Pick<DeployRecord, 'kind'> & { signal: NodeJS.Signals }

const BEGIN_TIMEOUT_MS = 10_000
const END_TIMEOUT_MS = 900_000
const POLL_MS = 100

/** `namesake reload` */
export function reloadCommand(): Command {
  return new Command('reload')
    .summary('Replace every process of what runs here')
    .description('Replace every process of what runs here, one after the other, without losing a request')
    .option('--json', 'print JSON')
    .action((options: Options) => run({ kind: 'reload', signal: 'SIGHUP' }, options))
}

/** `namesake upgrade` */
export function upgradeCommand(): Command {
  return new Command('upgrade')
    .summary('Let the release on disk take over from what runs here')
    .description('Let the release on disk take over from what runs here; where it does not come up, what runs goes on')
    .option('--json', 'print JSON')
    .action((options: Options) => run({ kind: 'upgrade', signal: 'SIGUSR2' }, options))
}

async function run(wish: Wish, options: Options): Promise<void> {
  const { config } = readConfig(process.env, process.cwd())
  const dataDir = locateData(config.dataDir, findServiceUser())
  const supervisor = findSupervisor(dataDir)
  if (!supervisor)
    throw new Error(
      `nothing runs on ${dataDir}: there is nothing to ${wish.kind}. Run this in the folder it was started in, or set NAMESAKE_DATA_DIR`,
    )
  const before = readRecord(dataDir, supervisor)
  requireAble(before, supervisor, wish)
  send(supervisor, wish)
  const outcome = await awaitOutcome(dataDir, supervisor, wish, before?.deploy?.number ?? 0)
  if (outcome.state === 'failed') process.exitCode = 1
  show(options, outcome, () => [`${outcome.kind}: ${outcome.sentence}`])
}

function send({ pid }: ProcessIdentity, { kind, signal }: Wish): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
    throw new Error(`process ${pid} belongs to another user: root, or the user who did the start, may ask it for the ${kind}`)
  }
}

/** A signal that a supervisor does not listen for would end it. */
function requireAble(record: SupervisorRecord | undefined, { pid }: ProcessIdentity, { kind }: Wish): void {
  if (!record)
    throw new Error(`process ${pid} is still starting, or of a release that knows no ${kind}: look at its log, or stop it and start again`)
  if (kind === 'reload' && record.terminal)
    throw new Error(`process ${pid} runs in a terminal, where SIGHUP ends it: use upgrade, or Ctrl-C and a new start`)
  if (record.deploy?.state === 'running') throw isBusy(pid, record.deploy)
}

function isBusy(pid: number, { kind }: DeployRecord): Error {
  return new Error(`process ${pid} is busy: its ${kind} is under way`)
}

/** Of what began after `before`; where somebody else's other wish came first, the supervisor has refused ours. */
async function awaitOutcome(dataDir: string, supervisor: ProcessIdentity, { kind }: Wish, before: number): Promise<DeployRecord> {
  const asked = performance.now()
  for (;;) {
    const deploy = readRecord(dataDir, supervisor)?.deploy
    const isNew = deploy !== undefined && deploy.number > before
    const isOurs = isNew && deploy.kind === kind
    if (isOurs && deploy.state !== 'running') return deploy
    if (isNew && !isOurs && deploy.state === 'running') throw isBusy(supervisor.pid, deploy)
    if (!isStill(supervisor)) throw new Error(`process ${supervisor.pid} has ended meanwhile: look at its log`)
    if (performance.now() - asked > (isOurs ? END_TIMEOUT_MS : BEGIN_TIMEOUT_MS))
      throw new Error(`process ${supervisor.pid} has not said what came of it: look at its log`)
    await pause(POLL_MS)
  }
}
