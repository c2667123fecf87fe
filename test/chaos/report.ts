import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describeMachine } from '../../bench/support/machine.ts'
import { table } from '../../bench/support/measure.ts'
import { withSection } from '../../bench/support/results.ts'
import type { Outcome } from './trial.ts'

/** What a reader of the table must know of its run. */
export type Circumstances = {
  seed: number
  commit: string
  network: string
  command: string
  at: Date
  minutes: number
  loadBefore: number
}

const FILE = fileURLToPath(new URL('../../bench/RESULTS.md', import.meta.url))
const HEADING = ['fault', 'seconds', 'requests', 'failed', 'excused', 'wrong', 'claims', 'missing', 'converged', 'rules']

/** One line a fault, as Markdown. */
export function outcomeTable(outcomes: readonly Outcome[]): string {
  return table([HEADING, ...outcomes.map(row)])
}

/** A sentence for every rule that was broken. */
export function brokenSentences(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap(({ fault, broken }) => broken.map((sentence) => `${fault.name}: ${sentence}`))
}

/** Puts the run in the place of the last one in bench/RESULTS.md. */
export function saveOutcomes(outcomes: readonly Outcome[], run: Circumstances): void {
  const broken = brokenSentences(outcomes)
  const section = [
    '## chaos',
    'What a fleet does when parts of it fail: a primary and a standby, two machines with the API, two workers, three edges, DNS, a certificate authority and applications, each fault under load.',
    circumstances(run),
    outcomeTable(outcomes),
    ...(broken.length > 0 ? [`Rules that were broken:\n\n${broken.map((sentence) => `- ${sentence}`).join('\n')}`] : []),
    NOTES,
  ].join('\n\n')
  writeFileSync(`${FILE}.new`, withSection(existsSync(FILE) ? readFileSync(FILE, 'utf8') : '', `${section}\n`))
  renameSync(`${FILE}.new`, FILE)
}

const NOTES = `- **failed**: requests for known hostnames without their whole, right answer; nothing is tried twice. **excused**: those at an edge while that edge itself was hit (it was killed, or its way to the applications cut). **wrong**: another project's, hostname's or path's answer, or a certificate for a name that is not its own.
- **claims**: writes that the API acknowledged meanwhile; **missing**: those of which its listing knows nothing afterwards. What came after a backup that is restored is not counted.
- **converged**: how long after the fault's end a hostname claimed then was verified, certified and served by every edge, and one removed then refused by every edge. 5 s are allowed.`

function row({ fault, seconds, tally, failed, claims, convergence, notes, broken }: Outcome): string[] {
  const converged = convergence.kind === 'converged' ? `${(convergence.afterMs / 1_000).toFixed(1)} s` : 'never'
  const name = notes.length > 0 ? `${fault.name} (${notes.join(', ')})` : fault.name
  const counts = [tally.requests, failed, tally.failed.length - failed, tally.wrong.length, claims.acknowledged, claims.missing.length]
  return [
    name,
    seconds.toFixed(0),
    ...counts.map((count) => count.toLocaleString('en')),
    converged,
    broken.length === 0 ? 'held' : 'BROKEN',
  ]
}

function circumstances({ seed, commit, network, command, at, minutes, loadBefore }: Circumstances): string {
  const when = `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC, ${minutes.toFixed(1)} minutes`
  return `\`${command}\` on ${when}. Seed ${seed}, commit ${commit}, machines as ${network}. ${describeMachine()}, Node ${process.versions.node}. Load average before: ${loadBefore.toFixed(1)}.`
}
