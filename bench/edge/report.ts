import { drawBars } from '../support/plot.ts'
import type { Results, Target } from '../support/results.ts'
import { type Figure, ratio, type Spread, spreadOf } from './figures.ts'
import { VARIANTS, type Variant } from './ours.ts'
import type { Plan } from './turns.ts'

/** A table and a plot for each figure, and the targets that are held to it. */
export function reportFigures(figures: readonly Figure[], plan: Plan, versions: string): Results {
  return {
    tables: figures.map((figure) => ({
      title: figure.title,
      rows: rowsOf(figure),
      plot: { file: `${figure.id}.svg`, svg: plotOf(figure) },
    })),
    targets: figures.flatMap(targetsOf),
    notes: [...notes(plan, versions), ...figures.flatMap(repeatsOf), ...figures.flatMap(failuresOf)],
  }
}

/** One line for whoever waits for the run's end. */
export function summaryOf(figure: Figure): string {
  const [ours] = variantsIn(figure)
  const parts = peersIn(figure).map((peer) => `${ratio(figure, ours!.name, peer).median.toFixed(2)} × ${peer}`)
  return `${figure.title}: ${parts.join(', ')}${figure.failures.size > 0 ? ` (${[...figure.failures.keys()].join(', ')} failed)` : ''}`
}

function repeatsOf({ title, repeats }: Figure): string[] {
  return [...repeats].map(
    ([name, why]) => `${title}: ${name} was asked again ${why.length === 1 ? 'once' : `${why.length} times`}, at last since: ${why.at(-1)}`,
  )
}

function failuresOf({ title, failures }: Figure): string[] {
  return [...failures].map(([name, why]) => `${title}: ${name} failed, and has no figure. ${why}`)
}

function rowsOf(figure: Figure): string[][] {
  const ours = variantsIn(figure)
  const rounds = [...figure.rounds.values()].flat()
  const hasRates = rounds.some(({ perSecond }) => perSecond !== undefined)
  const hasShares = rounds.some(({ share }) => share !== undefined)
  const heading = ['proxy', figure.unit, 'least to greatest', ...ours.map(({ name }) => `${name} ÷ theirs`)]
  const width = heading.length + Number(hasRates) + Number(hasShares)
  const rows = [...figure.rounds].map(([name, rounds]) => {
    if (rounds.length === 0) return [name, 'failed', ...Array.from({ length: width - 2 }, () => '')]
    const value = spreadOf(rounds.map(({ value }) => value))
    const isOurs = ours.some((variant) => variant.name === name)
    const ratios = ours.map((variant) => (isOurs ? '' : shownRatio(ratio(figure, variant.name, name))))
    const perSecond = spreadOf(rounds.map(({ perSecond = Number.NaN }) => perSecond)).median
    const share = spreadOf(rounds.map(({ share = Number.NaN }) => share)).median
    return [
      name,
      shown(value.median),
      `${shown(value.low)} – ${shown(value.high)}`,
      ...ratios,
      ...(hasRates ? [Math.round(perSecond).toLocaleString('en')] : []),
      ...(hasShares ? [`${Math.round(share * 100)} %`] : []),
    ]
  })
  return [[...heading, ...(hasRates ? ['a second'] : []), ...(hasShares ? ['of its core'] : [])], ...rows]
}

function plotOf(figure: Figure): string {
  const ours = variantsIn(figure)
  const bars = ours.flatMap((variant) =>
    peersIn(figure).map((peer) => {
      const { median: value, low, high } = ratio(figure, variant.name, peer)
      return { label: `${variant.name} ÷ ${peer}`, value, low, high, ...limitOf(figure, variant, peer) }
    }),
  )
  return drawBars({ title: figure.title, axis: `${figure.unit}, ours ÷ theirs: below 1 is less than theirs`, baseline: 1, bars })
}

function targetsOf(figure: Figure): Target[] {
  return variantsIn(figure).flatMap((variant) =>
    figure.held.flatMap(({ peer }) => {
      const limit = limitOf(figure, variant, peer)
      const what = `${figure.title}: ${variant.name}, × ${peer}`
      return limit ? [{ what, reached: ratio(figure, variant.name, peer).median, ...limit, smaller: true as const }] : []
    }),
  )
}

/** The targets are for our own HTTP/2 framing; where a runtime has none of its own, there is none. */
function limitOf({ held }: Figure, variant: Variant, peer: string): { gate: number; goal: number } | undefined {
  return variant.ownHttp2 ? held.find((one) => one.peer === peer)?.[variant.runtime] : undefined
}

function variantsIn({ rounds }: Figure): Variant[] {
  return VARIANTS.filter(({ name }) => rounds.has(name))
}

function peersIn({ rounds }: Figure): string[] {
  return [...rounds.keys()].filter((name) => !VARIANTS.some((variant) => variant.name === name))
}

function shown(value: number): string {
  return value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en')
}

function shownRatio({ median, low, high }: Spread): string {
  if (Number.isNaN(median)) return '–'
  return low === high ? median.toFixed(2) : `${median.toFixed(2)} (${low.toFixed(2)} – ${high.toFixed(2)})`
}

function notes({ rounds, readMs, again, warmUpMs }: Plan, versions: string): string[] {
  const seconds = (proxy: string) => (warmUpMs(proxy) / 1_000).toFixed(1)
  const repeated = ` As many again, twice at most, where the middle half of most proxies' rounds differ by more than a fifth.`
  return [
    `${rounds} rounds of ${Math.round(readMs)} ms by turns, each proxy behind every other one about as often, after a warm-up of ${seconds('namesake')} s for ours, which is compiled as it runs, and ${seconds('nginx')} s for the others (for full handshakes longer, and alike); read while the load runs. Medians, and the median of each round's ratio, with the least and the greatest.${again > 1 ? repeated : ''}`,
    versions,
    'The proxy has one core; load generator and upstream share the other. Answers have 700 bytes where nothing else is said. Processor time is that of all processes and threads: ours counts supervisor, follower and edge process.',
    'All write an access log to a file, keep connections to the same upstream, and add X-Forwarded-For and -Proto. Ours and nginx write many lines at once, HAProxy and Caddy each by itself; those of Caddy hold every field of the request. All have TLS 1.3 with TLS_AES_128_GCM_SHA256, which browsers offer first. Configurations are in bench/peers; -tuned ones are for large bodies.',
    "Requests are counted by the upstream; every answer's status is checked by the load generator, and each proxy's bodies beforehand.",
    'Ours has a million claimed hostnames when all is measured (10,000 when no shape needs more). For 10,000 names ours and Caddy have a certificate each, nginx and HAProxy one wildcard. Handshakes, WebSocket messages and bodies of 1 MB: client and upstream are slower than the proxies, which are not busy all the time (of its core); full handshakes therefore come once more from the same client run by Bun, which makes two to three times as many and keeps them busier. Handshakes are read from one second after their load has begun: before that, each costs a proxy that has rested while the others had their turns up to a quarter more (docs/decisions/0094).',
    'Small requests that have targets have twice as many rounds, full handshakes with X25519 and p99, which differ most from round to round, three times. Idle connections: measured once, before the rounds. p99: h2load at an even rate, half of what each could answer at most, and of each round the median of its quarters; an answer later than the next request of its connection delays that one. Its ratio differs more from round to round than from proxy to proxy, since most of it is the machine (docs/decisions/0069): a target that is met there says that ours is not far off, no more.',
  ]
}
