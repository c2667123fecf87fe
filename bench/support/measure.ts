import { readdirSync, readFileSync } from 'node:fs'

/** What each thread of a process had used when it was last looked at, also of those that have ended: Bun's come and go. */
const seen = new Map<number, Map<string, number>>()

/** Processor time in microseconds that a process, its descendants and all their threads have used so far (schedstat, first field: ns). */
export function processorUs(pid: number): number {
  return processorUsOf(tree(pid))
}

/** The same for these processes alone. It never becomes less, though the system forgets what a thread had used when that ends. */
export function processorUsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + threadsUs(pid), 0)
}

/** The process and its living descendants. */
export function tree(pid: number): number[] {
  return [
    pid,
    ...tasks(pid)
      .flatMap((task) => childrenOf(`${task}/children`))
      .flatMap(tree),
  ]
}

function threadsUs(pid: number): number {
  const threads = seen.get(pid) ?? new Map<string, number>()
  seen.set(pid, threads)
  for (const task of tasks(pid)) {
    const us = Number(read(`${task}/schedstat`)?.split(' ')[0] ?? 0) / 1_000
    threads.set(task, Math.max(us, threads.get(task) ?? 0))
  }
  return [...threads.values()].reduce((sum, us) => sum + us, 0)
}

function tasks(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`)
  } catch {
    return []
  }
}

function childrenOf(path: string): number[] {
  return (read(path) ?? '').trim().split(' ').filter(Boolean).map(Number)
}

/** A file of /proc; undefined when its process or thread has ended meanwhile. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The value that `share` (0 to 1) of the values do not exceed; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

/** Rows of cells as a Markdown table, columns aligned. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(3, ...rows.map((row) => row[column]!.length)))
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`
  return [line(rows[0]!), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.slice(1).map(line)].join('\n')
}

/** The value of `--name value` on the command line, as a number. */
export function option(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`)
  if (at < 0) return fallback
  const value = Number(process.argv[at + 1])
  if (!(value > 0)) throw new Error(`--${name} wants a number above 0`)
  return value
}

/** Whether `--name` is on the command line. */
export function hasOption(name: string): boolean {
  return process.argv.includes(`--${name}`)
}

/** The words behind `--name` on the command line; undefined when it is not there. */
export function words(name: string): string | undefined {
  if (!hasOption(name)) return undefined
  const value = process.argv[process.argv.indexOf(`--${name}`) + 1]
  if (!value || value.startsWith('--')) throw new Error(`--${name} wants a word behind it`)
  return value
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
