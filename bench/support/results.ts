import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { findAllocator } from '../../src/edge/allocator.ts'
import { checkCommandLine, type Options } from './command-line.ts'
import { commitOf, describeMachine } from './machine.ts'
import { table } from './measure.ts'

/** A ratio or figure that is held to something. Below the gate is a failure; `smaller` when less is better. */
export type Target = { what: string; reached: number; gate: number; goal: number; smaller?: true }

export type Results = {
  /** The first row of each table is its heading. Plots are kept in bench/plots, their file names behind the measurement's own. */
  tables: { title: string; rows: readonly (readonly string[])[]; plot?: Plot }[]
  targets?: Target[]
  /** What a reader must know to believe the figures, a sentence each. */
  notes?: string[]
}

export type Plot = { file: string; svg: string }

const FILE = fileURLToPath(new URL('../RESULTS.md', import.meta.url))
const PLOTS = fileURLToPath(new URL('../plots/', import.meta.url))
const HEAD = `# What was measured

Each section is written by the command that it names and holds the newest run alone. Ratios travel further than absolute figures, but not from one kind of processor to another (docs/decisions/0069).
`

/** Call it before anything is measured or installed: it answers `--help`, refuses unknown options, and notes how busy the machine is with other things, and what is run. */
export function beginMeasurement(name: string, options: Options): { publish(results: Results, options?: { save: boolean }): void } {
  checkCommandLine({ name, purpose: purposeOf(name), options }, process.argv.slice(2))
  const loadBefore = loadavg()[0]!
  const startedAt = new Date()
  const commit = commitOf('src', 'sql', 'bench')
  return {
    /**
     * Prints the results, puts them in the place of this measurement's section of RESULTS.md, and fails the process if a gate is missed.
     * `save: false` when they are a part alone, which must not take the place of the whole.
     */
    publish(results, { save } = { save: true }) {
      console.log(`\n${bodyOf(results)}`)
      if (results.targets?.some((target) => !passes(target, target.gate))) process.exitCode = 1
      if (!save || process.argv.includes('--no-save')) return
      const body = bodyOf(results, name)
      savePlots(name, results)
      const section = `## ${name}\n\n${purposeOf(name)}\n\n${circumstances(name, { startedAt, loadBefore, commit })}\n\n${body}\n`
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

function savePlots(name: string, { tables }: Results): void {
  const plots = tables.flatMap(({ plot }) => plot ?? [])
  const older = existsSync(PLOTS) ? readdirSync(PLOTS).filter((file) => file.startsWith(`${name}-`)) : []
  for (const file of older) rmSync(`${PLOTS}${file}`)
  if (plots.length > 0) mkdirSync(PLOTS, { recursive: true })
  for (const { file, svg } of plots) writeFileSync(`${PLOTS}${name}-${file}`, svg)
}

/** With the links to the plots, when they are saved under this measurement's name. */
export function bodyOf({ tables, targets = [], notes = [] }: Results, name?: string): string {
  const parts = tables.map(({ title, rows, plot }) => {
    const image = plot && name !== undefined ? `![${title}](plots/${name}-${plot.file})\n\n` : ''
    return `${title}\n\n${image}${table(rows)}`
  })
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

type Beginning = { startedAt: Date; loadBefore: number; commit: string }

function circumstances(name: string, { startedAt, loadBefore: load, commit }: Beginning): string {
  const runtime = `Node ${process.versions.node}${findAllocator() ? ', edge processes on jemalloc' : ''}`
  const command = ['npm run bench --', name, ...process.argv.slice(2)].join(' ')
  const busy = load < QUIET_LOAD ? '' : ': not a quiet machine, trust the ratios of interleaved rounds alone'
  return `\`${command}\` on ${startedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC. Commit ${commit}. ${describeMachine()}, ${runtime}. Load average before: ${load.toFixed(1)}${busy}.`
}

const QUIET_LOAD = 1.5
