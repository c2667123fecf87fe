import { expect, test } from 'vitest'
import { drawBars } from './plot.ts'

const BARS = [
  { label: '÷ nginx', value: 1.25, low: 1.2, high: 1.5, gate: 1.35, goal: 1.2 },
  { label: '÷ Caddy & others', value: 0.5, low: 0.45, high: 0.6 },
]
const plot = { title: 'small <requests>', axis: 'ours ÷ theirs', baseline: 1, bars: BARS }

function widths(svg: string): number[] {
  return [...svg.matchAll(/class="bar".* width="([\d.]+)"/g)].map(([, width]) => Number(width))
}

test('bars are as long as their values', () => {
  const [first, second] = widths(drawBars(plot)) as [number, number]
  expect(first / second).toBeCloseTo(1.25 / 0.5, 1)
})

test('gate and goal stand beside the bar that is held to them, and in the legend', () => {
  expect([...drawBars(plot).matchAll(/class="(gate|goal)"/g)].map(([, kind]) => kind)).toEqual(['gate', 'goal', 'gate', 'goal'])
  expect(drawBars({ ...plot, bars: BARS.slice(1) })).not.toContain('class="gate"')
})

test('words are words, whatever they contain', () => {
  expect(drawBars(plot)).toContain('<title>small &lt;requests&gt;</title>')
  expect(drawBars(plot)).toContain('÷ Caddy &amp; others')
})

test('what has no value has no bar', () => {
  const missing = { label: '÷ none', value: Number.NaN, low: Number.NaN, high: Number.NaN }
  expect(widths(drawBars({ ...plot, bars: [missing] }))).toEqual([])
  expect(drawBars({ ...plot, bars: [missing] })).not.toContain('NaN')
})

test('it has colours for dark pages and no background of its own', () => {
  expect(drawBars(plot)).toContain('prefers-color-scheme:dark')
  expect(drawBars(plot)).not.toContain('background')
})
