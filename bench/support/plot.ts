/** A bar from 0 to `value`, with a whisker from `low` to `high`, and where it is held to something. */
export type Bar = { label: string; value: number; low: number; high: number; gate?: number; goal?: number }

/** `baseline` draws a line through all bars, as at 1 for ratios. */
export type BarPlot = { title: string; axis: string; baseline?: number; bars: readonly Bar[] }

const WIDTH = 800
const LABELS = 290
const FIGURES = 64 // beside the bars
const ROW = 30
const BAR = 16
const TOP = 50
const BOTTOM = 58
const TICKS_MAX = 6

// Colours that hold against a light and a dark page; the background stays the page's.
const STYLE = `text{font:13px system-ui,sans-serif;fill:#24292f}.small{font-size:11px;fill:#57606a}.title{font-size:15px;font-weight:600}
.bar{fill:#4c8dd6}.grid{stroke:#8b949e;stroke-opacity:.3}.base{stroke:#8b949e;stroke-width:1.5}.spread{stroke:#24292f;stroke-width:1.5}
.gate{stroke:#cf222e;stroke-width:3}.goal{stroke:#1a9c47;stroke-width:3}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9da7b3}.spread{stroke:#e6edf3}.gate{stroke:#ff7b72}.goal{stroke:#56d364}}`

/** The bars as an SVG image of its own, readable on light and dark pages; bars without a value are left out. */
export function drawBars(plot: BarPlot): string {
  const bars = plot.bars.filter(({ value }) => Number.isFinite(value))
  const most = Math.max(plot.baseline ?? 0, ...bars.flatMap(({ value, high, gate = 0, goal = 0 }) => [value, high, gate, goal]))
  const step = tickStep(most)
  const end = Math.max(step, Math.ceil(most / step) * step)
  const x = (value: number) => round(LABELS + ((WIDTH - LABELS - FIGURES) * value) / end)
  const bottom = TOP + bars.length * ROW
  const height = bottom + BOTTOM
  const ticks = Array.from({ length: Math.round(end / step) + 1 }, (_, i) => i * step)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escaped(plot.title)}</title><style>${STYLE}</style>`,
    text(10, 24, 'title', plot.title),
    ...ticks.flatMap((tick) => [line('grid', x(tick), TOP - 6, bottom), text(x(tick), bottom + 16, 'small', shown(tick), 'middle')]),
    ...(plot.baseline === undefined ? [] : [line('base', x(plot.baseline), TOP - 6, bottom)]),
    ...bars.flatMap((bar, i) => drawBar(bar, TOP + i * ROW, x)),
    text(LABELS, bottom + 36, 'small', plot.axis),
    ...legend(bars, bottom + 52),
    '</svg>\n',
  ].join('\n')
}

function drawBar({ label, value, low, high, gate, goal }: Bar, top: number, x: (value: number) => number): string[] {
  const middle = top + ROW / 2
  const marks = [
    { kind: 'gate', at: gate },
    { kind: 'goal', at: goal },
  ]
  return [
    text(LABELS - 10, middle + 4, '', label, 'end'),
    `<rect class="bar" x="${x(0)}" y="${middle - BAR / 2}" width="${round(x(value) - x(0))}" height="${BAR}" rx="2"/>`,
    `<path class="spread" d="M${x(low)} ${middle}H${x(high)}"/>`,
    ...marks.flatMap(({ kind, at }) => (at === undefined ? [] : [line(kind, x(at), middle - BAR / 2 - 4, middle + BAR / 2 + 4)])),
    text(WIDTH - 8, middle + 4, '', value < 100 ? value.toFixed(2) : shown(value), 'end'),
  ]
}

function legend(bars: readonly Bar[], y: number): string[] {
  const spread = 'the thin line: least and greatest of all rounds'
  if (!bars.some(({ gate }) => gate !== undefined)) return [text(LABELS, y, 'small', spread)]
  return [
    line('gate', LABELS + 2, y - 10, y + 1),
    text(LABELS + 10, y, 'small', 'gate'),
    line('goal', LABELS + 50, y - 10, y + 1),
    text(LABELS + 58, y, 'small', 'goal'),
    text(LABELS + 100, y, 'small', spread),
  ]
}

/** 1, 2 or 5 times a power of ten, so that there are few ticks. */
function tickStep(most: number): number {
  if (!(most > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(most / TICKS_MAX))
  return power * [1, 2, 5, 10].find((step) => most / (step * power) <= TICKS_MAX)!
}

function line(kind: string, x: number, from: number, to: number): string {
  return `<path class="${kind}" d="M${x} ${from}V${to}"/>`
}

function text(x: number, y: number, kind: string, words: string, anchor = 'start'): string {
  return `<text x="${x}" y="${y}" class="${kind}" text-anchor="${anchor}">${escaped(words)}</text>`
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toFixed(2)))
}

function round(value: number): number {
  return Number(value.toFixed(1))
}

function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
