import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NODE, type Runtime } from './child.ts'
import { type Config, ConfigError } from './config.ts'
import { allocatorEnvironment } from './edge/allocator.ts'
import { EDGE_ENVIRONMENT, EDGE_NODE_FLAGS } from './edge/node-flags.ts'
import { descriptorRoom } from './file-descriptors.ts'
import { ownFile } from './own-files.ts'

const BUN_MIN = [1, 4] as const
const BUN_INSTALLED = '1.4.5' // what the tests run on
const ANSWER_TIMEOUT_MS = 30_000 // its hundred megabytes may have to come from a busy disk
const OWN_FOLDER = fileURLToPath(ownFile(''))

// By itself Bun reads .env and its own settings from the working folder, fetches packages that are missing, and writes compiled files to a cache.
const BUN_FLAGS = ['--no-env-file', '--no-install', '--config=/dev/null', '--no-warnings']
/** Its allocator gives memory back to the system as soon as it is free, and the next request asks for it anew: a minute later will do (docs/decisions/0091). */
const BUN_ENVIRONMENT = { BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0', MIMALLOC_PURGE_DELAY: '60000', MIMALLOC_PURGE_HOLES: '0' }
/**
 * Its engine throws compiled code away while nobody asks, and whoever asks next would pay for it (docs/decisions/0090). And it collects when as much
 * has been made as was there before; after 16 MB, what is free is used again while the processor's caches know it (docs/decisions/0091).
 */
const BUN_ENGINE = { BUN_JSC_forceCodeBlockLiveness: '1', BUN_JSC_gcMaxHeapSize: String(16 * 1024 * 1024) }

type EdgeSettings = Pick<Config, 'edgeRuntime'> & Partial<Pick<Config, 'edgeConnections'>>

/** What runs the edge processes. Throws ConfigError when that is to be Bun and there is none that will do: it says how to install one. */
export function findEdgeRuntime({ edgeRuntime, edgeConnections = 0 }: EdgeSettings, path = ''): Runtime {
  const descriptors = descriptorRoom(edgeConnections)
  if (edgeRuntime === 'node') {
    const env = { ...EDGE_ENVIRONMENT, ...allocatorEnvironment() }
    return { program: NODE.program, flags: [...NODE.flags, ...EDGE_NODE_FLAGS], env, descriptors }
  }
  const program = findBun({ folder: OWN_FOLDER, path })
  const env = { ...BUN_ENVIRONMENT, ...(accepts(program, BUN_ENGINE) ? BUN_ENGINE : {}) }
  return { program, flags: BUN_FLAGS, env, descriptors }
}

/** Settings of Bun's engine come and go with its versions, and it does not start with one that it does not know. */
export function accepts(program: string, settings: NodeJS.ProcessEnv, answerMs = ANSWER_TIMEOUT_MS): boolean {
  return ask(program, [...BUN_FLAGS, '-e', '0'], answerMs, settings).status === 0
}

/** The Bun that stands beside our own packages, or beside us where we are somebody's dependency ourselves, else the one in `path`. */
export function findBun({ folder, path, answerMs = ANSWER_TIMEOUT_MS }: { folder: string; path: string; answerMs?: number }): string {
  const binary = `@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : process.arch}`
  const packages = [join(folder, 'node_modules'), join(folder, '..')]
  const programs = [
    ...packages.map((place) => join(place, binary, 'bin', 'bun')),
    ...packages.map((place) => join(place, 'bun', 'bin', 'bun.exe')), // where the install script of the package `bun` moves it, on Linux too
    ...path
      .split(delimiter)
      .filter(Boolean)
      .map((place) => join(place, 'bun')),
  ]
  const found = programs.map((program) => ({ program, version: versionOf(program, answerMs) }))
  const usable = found.find(({ version }) => version && isNewEnough(version))
  if (usable) return usable.program
  const newest = found.find(({ version }) => version)
  throw new ConfigError([
    `NAMESAKE_EDGE_RUNTIME=bun needs Bun ${BUN_MIN.join('.')} or newer, and ${newest ? `${newest.program} is ${newest.version}` : 'there is none'}. ` +
      `Run 'npm install --no-save --omit=dev ${binary}@${BUN_INSTALLED}' in ${folder}, or set NAMESAKE_EDGE_RUNTIME=node`,
  ])
}

/** Undefined: there is no such program, or it is none that says a version. */
function versionOf(program: string, answerMs: number): string | undefined {
  const { status, stdout } = ask(program, ['--version'], answerMs)
  return status === 0 ? stdout.trim() : undefined
}

/** Throws ConfigError when it takes too long: that it is missing, or refuses, would be a guess. */
function ask(program: string, args: readonly string[], answerMs: number, env?: NodeJS.ProcessEnv) {
  const answer = spawnSync(program, args, { encoding: 'utf8', timeout: answerMs, env })
  if ((answer.error as NodeJS.ErrnoException | undefined)?.code === 'ETIMEDOUT')
    throw new ConfigError([
      `NAMESAKE_EDGE_RUNTIME=bun: ${program} did not answer within ${answerMs / 1_000} s. Start again once the machine is less busy`,
    ])
  return answer
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > BUN_MIN[0] || (major === BUN_MIN[0] && minor >= BUN_MIN[1])
}
