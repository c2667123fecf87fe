// `npm run fuzz -- [--messages N] [--seed S] [--target requests|answers|edge|nginx] [--from CASE]`: generated and mutated messages, read by us and by others.
import { randomInt } from 'node:crypto'
import { installMissing, PACKAGES } from '../install.ts'
import { fuzzEdge } from './edge.ts'
import { fuzzAnswerReader, fuzzRequestReader } from './readers.ts'

type Target = { name: string; run(options: Options, tell: (messages: number) => void): Promise<string> }
type Options = { seed: number; from: number; messages: number }

/** About; what is changed may be fewer for everybody. */
const MESSAGES_A_STREAM = 2
const TELL_EVERY_MS = 5_000

const TARGETS: Target[] = [
  { name: 'requests', run: (options, tell) => byReader(fuzzRequestReader, options, tell) },
  { name: 'answers', run: (options, tell) => byReader(fuzzAnswerReader, options, tell) },
  { name: 'edge', run: (options, tell) => throughEdge('node', options, tell) },
  { name: 'nginx', run: (options, tell) => throughEdge('nginx', options, tell) },
]

const HELP = `npm run fuzz -- [--messages N] [--seed S] [--target ${TARGETS.map(({ name }) => name).join('|')}] [--from CASE]

Reads generated and mutated messages with our readers and with others, and ends with the first that they read differently.

  --messages N  how many for each target; 1,000,000 when not said
  --seed S      makes the messages of an earlier run again; else others each time
  --target T    requests: llhttp beside our reader; answers: the same of an upstream's answers;
                edge: through an edge to node:http; nginx: through an edge to nginx. All four when not said
  --from CASE   begins with this case, as a disagreement names it`

if (process.argv.includes('--help')) {
  console.log(HELP)
  process.exit(0)
}
const seed = option('seed', randomInt(1, 2 ** 31))
const messages = option('messages', 1_000_000)
const from = option('from', 0)
const wanted = text('target')
if (wanted !== undefined && !TARGETS.some(({ name }) => name === wanted))
  fail(`--target wants one of ${TARGETS.map(({ name }) => name).join(', ')}`)
installMissing(PACKAGES.filter(({ name }) => name === 'nginx'))
console.log(`${messages.toLocaleString('en')} messages for each target, seed ${seed} (--seed ${seed} makes the same ones again)`)
for (const target of TARGETS) {
  if (wanted !== undefined && target.name !== wanted) continue
  const startedAt = performance.now()
  let toldAt = startedAt
  const tell = (done: number) => {
    if (performance.now() - toldAt < TELL_EVERY_MS) return
    toldAt = performance.now()
    console.log(`  ${target.name}: ${done.toLocaleString('en')}`)
  }
  try {
    const outcome = await target.run({ seed, from, messages }, tell)
    console.log(`${target.name}: no disagreement in ${Math.round((performance.now() - startedAt) / 1_000)} s; ${outcome}`)
  } catch (error) {
    fail(
      `${target.name}, seed ${seed}: ${(error as Error).message}\nAgain: npm run fuzz -- --target ${target.name} --seed ${seed} --from CASE --messages 1`,
    )
  }
}

async function throughEdge(way: 'node' | 'nginx', options: Options, tell: (messages: number) => void): Promise<string> {
  const streams = Math.ceil(options.messages / MESSAGES_A_STREAM)
  const onCase = (total: { streams: number }) => tell(Math.round(total.streams * MESSAGES_A_STREAM))
  const { requests, arrived, refused } = await fuzzEdge({ seed: options.seed, from: options.from, streams, way, onCase })
  return `${streams} connections, ${requests} requests for llhttp, ${arrived} arrived, ${refused} refused`
}

async function byReader(fuzz: typeof fuzzRequestReader, options: Options, tell: (messages: number) => void): Promise<string> {
  const streams = Math.ceil(options.messages / MESSAGES_A_STREAM)
  const { messages, accepted, refused } = await fuzz({ seed: options.seed, from: options.from, streams }, (run) => tell(run.messages))
  return `${streams} connections, ${messages} messages for llhttp, ${accepted} accepted by us, ${refused} refused`
}

function text(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? undefined : process.argv[at + 1]
}

function option(name: string, fallback: number): number {
  const value = text(name)
  const number = value === undefined ? fallback : Number(value)
  if (!Number.isInteger(number) || number < 0) fail(`--${name} wants a whole number`)
  return number
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
