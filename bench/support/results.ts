import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, type } from 'node:os'
import { fileURLToPath } from 'node:url'
import { table } from './measure.ts'

/** A ratio or figure that is held to something. Below the gate is a failure; `smaller` when less is better. */
export type Target = { what: string; reached: number; gate: number; goal: number; smaller?: true }

export type Results = {
  /** The first row of each table is its heading. */
  tables: { title: string; rows: readonly (readonly string[])[] }[]
  targets?: Target[]
  /** What a reader must know to believe the figures, a sentence each. */
  notes?: string[]
}

const FILE = fileURLToPath(new URL('../RESULTS.md', import.meta.url))
const HEAD = `# What was measured

Each section is written by the command that it names and holds the newest run alone. Ratios travel from machine to machine; absolute figures do not.
`

/** Call it before anything is measured: it notes how busy the machine is with other things. */
export function beginMeasurement(name: string): { publish(results: Results): void } {
  const loadBefore = loadavg()[0]!
  const startedAt = new Date()
  return {
    /** Prints the results, puts them in the place of this measurement's section of RESULTS.md, and fails the process if a gate is missed. */
    publish(results) {
      const body = bodyOf(results)
      console.log(`\n${body}`)
      if (results.targets?.some((target) => !passes(target, target.gate))) process.exitCode = 1
      if (process.argv.includes('--no-save')) return
      const section = `## ${name}\n\n${purposeOf(name)}\n\n${circumstances(name, startedAt, loadBefore)}\n\n${body}\n`
      const text = existsSync(FILE) ? readFileSync(FILE, 'utf8') : HEAD
      writeFileSync(`${FILE}.new`, withSection(text, section))
      renameSync(`${FILE}.new`, FILE)
      console.log(`\nWritten to bench/RESULTS.md`)
    },
  }
}

/** A measurement's first comment: what it is for. */
export function purposeOf(name: string): string {
  const lines = readFileSync(new URL(`../${name}.ts`, import.meta.url), 'utf8').split('\n')
  const end = lines.findIndex((line) => !line.startsWith('//'))
  return lines
    .slice(0, end)
    .map((line) => line.slice(3))
    .join(' ')
}

/** The text with this section in the place of its older self, else in its alphabetical place; all others stay as they are. */
export function withSection(text: string, section: string): string {
  const [head, ...sections] = text.split(/^(?=## )/m)
  const nameOf = (one: string) => one.slice(0, one.indexOf('\n'))
  const others = sections.filter((one) => nameOf(one) !== nameOf(section))
  const sorted = [...others, section].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  return `${[head!, ...sorted].map((part) => part.trim()).join('\n\n')}\n`
}

function bodyOf({ tables, targets = [], notes = [] }: Results): string {
  const parts = tables.map(({ title, rows }) => `${title}\n\n${table(rows)}`)
  if (targets.length > 0) parts.push(table([['target', 'reached', 'gate', 'goal', 'verdict'], ...targets.map(targetRow)]))
  if (notes.length > 0) parts.push(notes.map((note) => `- ${note}`).join('\n'))
  return parts.join('\n\n')
}

function targetRow(target: Target): string[] {
  const sign = target.smaller ? '≤' : '≥'
  const verdict = passes(target, target.goal) ? 'goal met' : passes(target, target.gate) ? 'gate passed, goal missed' : 'gate missed'
  return [target.what, shown(target.reached), `${sign} ${shown(target.gate)}`, `${sign} ${shown(target.goal)}`, verdict]
}

function passes({ reached, smaller }: Target, limit: number): boolean {
  return smaller ? reached <= limit : reached >= limit
}

function shown(value: number): string {
  return Number.isInteger(value) || value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}

function circumstances(name: string, at: Date, load: number): string {
  const machine = `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${type()} ${release()}, Node ${process.versions.node}`
  const command = ['npm run bench --', name, ...process.argv.slice(2)].join(' ')
  const busy = load < QUIET_LOAD ? '' : ': not a quiet machine, trust the ratios of interleaved rounds alone'
  return `\`${command}\` on ${at.toISOString().slice(0, 16).replace('T', ' ')} UTC. ${machine}. Load average before: ${load.toFixed(1)}${busy}.`
}

const QUIET_LOAD = 1.5
