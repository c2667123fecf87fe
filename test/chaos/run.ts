// `npm run chaos [-- options]`: a fleet of eleven machines on this one, hit by one fault after the other under load. Prints a table; exit code 1 if a rule broke.
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { commitOf } from '../../bench/support/machine.ts'
import { installMissing, PACKAGES, systemPath } from '../install.ts'
import { chooseFaults } from './faults/catalogue.ts'
import { enterLab } from './lab.ts'
import { rehearse } from './rehearsal.ts'
import { brokenSentences, outcomeTable, saveOutcomes } from './report.ts'
import type { Outcome } from './trial.ts'

const HELP = `npm run chaos -- [--seed N] [--only WORDS] [--short] [--list] [--json] [--no-save] [--logs FOLDER] [--patience N]

Runs a fleet as network namespaces (as root; over loopback relays elsewhere), and inflicts every fault under load.

  --seed N       who is hit and what is asked for; 1 by default, printed with the results
  --only WORDS   the faults whose names hold all these words; a comma stands between alternatives
  --short        the most telling ones, as the tests run them
  --list         names the faults, and runs none
  --json         one line of JSON a fault instead of the table
  --patience N   allows N times the 5 s to converge, on a machine that does other things as well; nothing is saved then
  --logs FOLDER  keeps what every program wrote
  --no-save      leaves bench/RESULTS.md as it is; so does whatever runs a part alone`

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    ...{ short: { type: 'boolean', default: false }, list: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
    ...{
      'no-save': { type: 'boolean', default: false },
      logs: { type: 'string' },
      patience: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  },
})
const seed = Number(options.seed)
const patience = Number(options.patience)
const faults = chooseFaults({ short: options.short, only: options.only })

if (options.help) leave(HELP, 0)
if (!Number.isSafeInteger(seed)) leave('--seed wants a whole number', 2)
if (!(patience >= 1)) leave('--patience wants a number, 1 or more', 2)
if (faults.length === 0) leave(`No fault has "${options.only}" in its name. npm run chaos -- --list names them.`, 2)
if (options.list) leave(faults.map(({ name, short }) => `${short ? '*' : ' '} ${name}`).join('\n'), 0)
const stop = askedToStop()
process.env.PATH = systemPath(process.env.PATH)
try {
  process.exit(await run())
} catch (error) {
  console.error(stop.aborted ? 'Stopped.' : error)
  process.exit(stop.aborted ? 130 : 1)
}

async function run(): Promise<number> {
  installMissing(PACKAGES)
  const lab = enterLab()
  const loadBefore = loadavg()[0]!
  const at = new Date()
  const commit = commitOf('src', 'sql', 'test')
  const say = (text: string) => void (options.json ? process.stderr : process.stdout).write(text)
  if (lab === 'shared')
    say('Network namespaces are not allowed here: machines stand behind loopback relays, and faults that need more are left out.\n')
  const { network, outcomes, skipped } = await rehearse({
    seed,
    faults,
    lab,
    logs: options.logs,
    patience,
    stop,
    progress: (what) => say(`${new Date().toISOString().slice(11, 19)} ${what}\n`),
    onOutcome: (outcome) => (options.json ? console.log(JSON.stringify(asJson(outcome))) : say(`         ${verdict(outcome)}\n`)),
  })
  const broken = brokenSentences(outcomes)
  const isWhole = outcomes.length === faults.length && !options.short && !options.only && patience === 1
  const minutes = (Date.now() - at.getTime()) / 60_000
  if (!options.json) {
    say(`\n${outcomeTable(outcomes)}\n\nSeed ${seed}, commit ${commit}, machines as ${network}, ${minutes.toFixed(1)} minutes.\n`)
    if (skipped.length > 0) say(`Left out, since they need namespaces: ${skipped.map(({ name }) => name).join('; ')}.\n`)
    say(broken.length === 0 ? 'Every rule held.\n' : `\nRules that were broken:\n${broken.map((sentence) => `- ${sentence}`).join('\n')}\n`)
  }
  if (isWhole && lab === 'own' && !options['no-save']) {
    saveOutcomes(outcomes, { seed, commit, network, command: 'npm run chaos', at, minutes, loadBefore })
    say('Written to bench/RESULTS.md\n')
  }
  return outcomes.length < faults.length - skipped.length ? 130 : broken.length > 0 ? 1 : 0
}

/** Ctrl-C lets the present fault end, and then everything; a second one ends all at once: nothing is left by that either. */
function askedToStop(): AbortSignal {
  const stop = new AbortController()
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(130)
    console.error('Stopping after this fault; Ctrl-C again ends everything at once.')
    stop.abort(new Error('stopped'))
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, onSignal)
  return stop.signal
}

function verdict({ broken, seconds, tally, failed, convergence }: Outcome): string {
  const converged = convergence.kind === 'converged' ? `converged after ${(convergence.afterMs / 1_000).toFixed(1)} s` : 'did not converge'
  const told = `${seconds.toFixed(0)} s, ${tally.requests} requests, ${failed} failed, ${tally.wrong.length} wrong, ${converged}`
  return broken.length === 0 ? `held: ${told}` : `BROKEN: ${told}\n           ${broken.join('\n           ')}`
}

function asJson({ fault, seconds, tally, failed, claims, convergence, notes, broken }: Outcome): object {
  const counts = { requests: tally.requests, failed, excused: tally.failed.length - failed, wrong: tally.wrong.length }
  return { fault: fault.name, seconds, ...counts, acknowledged: claims.acknowledged, missing: claims.missing, convergence, notes, broken }
}

function leave(text: string, code: number): never {
  console.log(text)
  process.exit(code)
}
