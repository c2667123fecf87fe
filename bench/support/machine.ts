import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, release, type } from 'node:os'

/** The machine and its kernel, as far as whoever compares figures must know them. */
export function describeMachine(): string {
  return `${availableParallelism()} × ${processorOf(readCpuinfo()) ?? cpus()[0]?.model.trim() ?? 'unknown processor'}, ${type()} ${release()}`
}

/** Of /proc/cpuinfo the processor by name, family and model: hypervisors call several generations by one name. Undefined where it has no names, as on ARM. */
export function processorOf(cpuinfo: string): string | undefined {
  const read = (key: string) => new RegExp(`^${key}\\s*:\\s*(.+)$`, 'm').exec(cpuinfo)?.[1]?.trim()
  const [name, family, model] = [read('model name'), read('cpu family'), read('model')]
  return family && model ? `${name} (family ${family}, model ${model})` : name
}

const RESULTS = [':(top,exclude)bench/RESULTS.md', ':(top,exclude)bench/plots']

/** What is run: what is committed later is not. `folders`: whose changes, but for results, would make it something else. */
export function commitOf(...folders: string[]): string {
  try {
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', import.meta.dirname, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
    const changes = git('status', '--porcelain', '--', ...folders.map((folder) => `:/${folder}`), ...RESULTS)
    return `${git('rev-parse', '--short', 'HEAD')}${changes ? ' and changes' : ''}`
  } catch {
    return 'unknown'
  }
}

function readCpuinfo(): string {
  try {
    return readFileSync('/proc/cpuinfo', 'utf8')
  } catch {
    return ''
  }
}
