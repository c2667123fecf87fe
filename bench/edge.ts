// Processor time of the proxy per request, ours beside Debian's nginx, HAProxy and Caddy: the proxy on one core, load and upstream on the other (--only WORDS).
import { installMissing, PACKAGES, systemPath } from '../test/install.ts'
import type { Figure } from './edge/figures.ts'
import { IDLE, measureIdle } from './edge/idle.ts'
import { ALL_ROUNDS_FACTOR, LATENCY, measureLatency } from './edge/latency.ts'
import { VARIANTS } from './edge/ours.ts'
import { makePlace, NAMES_MAX, NAMES_WITH_CERTIFICATE } from './edge/place.ts'
import { measureShape } from './edge/processor-time.ts'
import { startProxies } from './edge/proxies.ts'
import { reportFigures, summaryOf } from './edge/report.ts'
import { shapesOf } from './edge/shapes.ts'
import { planRounds } from './edge/turns.ts'
import { versionsOfAll } from './edge/versions.ts'
import { hasOption, option, words } from './support/measure.ts'
import { beginMeasurement } from './support/results.ts'

const PEERS = ['nginx', 'haproxy', 'caddy']
const RUN_BESIDE = ['nginx', 'haproxy', 'caddy', 'wrk', 'nghttp2-client', 'curl', 'libjemalloc2']

const measurement = beginMeasurement('edge', {
  'only WORDS': 'only the shapes whose names contain the words, and save nothing',
  'seconds N': 'measure for about N seconds; by default three quarters of an hour, and longer where the machine is not steady',
  'connections N': 'hold N idle connections, 10,000 by default',
})
process.env.PATH = systemPath(process.env.PATH)
installMissing(PACKAGES.filter(({ name }) => RUN_BESIDE.includes(name)))

const only = words('only')
const isWanted = ({ id, title }: { id: string; title: string }) => only === undefined || `${id} ${title}`.includes(only)
const place = makePlace()
const undo = new AsyncDisposableStack()
undo.defer(place.remove)
// Whoever interrupts the run leaves no proxy behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void undo.disposeAsync().then(() => process.exit(1)))
try {
  const shapes = shapesOf(place).filter(isWanted)
  const mainVariants = VARIANTS.filter(({ ownHttp2 }) => ownHttp2).map(({ name }) => name)
  const carriers = shapes.map((shape) => ({
    shape,
    names: [...(shape.http2 ? VARIANTS.map(({ name }) => name) : mainVariants), ...PEERS, ...(shape.tuned ?? [])],
  }))
  const small = [...mainVariants, ...PEERS]
  const ofShapes = carriers.flatMap(({ shape: { roundsFactor, warmUpMs: leastMs }, names }) =>
    names.map((proxy) => ({ proxy, roundsFactor, leastMs })),
  )
  const ofLatency = isWanted(LATENCY) ? small.map((proxy) => ({ proxy, roundsFactor: ALL_ROUNDS_FACTOR })) : []
  const planned = [...ofShapes, ...ofLatency]
  if (planned.length === 0 && !isWanted(IDLE)) throw new Error(`--only ${only}: no shape's name contains this`)
  const plan = planRounds(planned, hasOption('seconds') ? option('seconds', 1) : undefined)
  const names = shapes.some(({ id }) => id === 'http1-million') ? NAMES_MAX : NAMES_WITH_CERTIFICATE
  const wanted = new Set([...planned.map(({ proxy }) => proxy), ...(isWanted(IDLE) ? small : [])])
  const proxies = await startProxies(place, { variants: [...wanted], peers: [...wanted], names }, undo)
  const of = (chosen: readonly string[]) => chosen.flatMap((name) => proxies.all.find((proxy) => proxy.name === name) ?? [])

  const figures: Figure[] = []
  const add = (figure: Figure) => {
    figures.push(figure)
    console.log(summaryOf(figure))
  }
  if (isWanted(IDLE)) add(await measureIdle(of(small)))
  for (const { shape, names } of carriers) add(await measureShape(shape, of(names), proxies.counters, plan))
  if (isWanted(LATENCY)) add(await measureLatency(of(small), place, plan))
  measurement.publish(reportFigures(figures, plan, versionsOfAll()), { save: only === undefined })
} finally {
  await undo.disposeAsync()
}
