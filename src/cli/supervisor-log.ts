import { styleText } from 'node:util'
import { pino } from 'pino'
import { escapeInLine } from '../lib/control-characters.ts'
import { EventWriter } from '../lib/event-writer.ts'
import type { Log } from '../log.ts'
import { printable } from './output.ts'

const STDERR = 2
const SHOWN_BEFORE = new Set(['level', 'time', 'pid', 'name', 'msg'])
const COLOURS: Record<string, 'yellow' | 'red'> = { warn: 'yellow', error: 'red', fatal: 'red' }

/** The supervisor's own events, on standard error: JSON lines as its children write them, or short ones on a terminal. */
export function createSupervisorLog({ level, terminal }: { level: string; terminal: boolean }): Log {
  const options: pino.LoggerOptions = {
    name: 'supervisor',
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    hooks: { streamWrite: escapeInLine },
  }
  // A full disk, or a reader that is gone, would end the supervisor, and with it everything.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  const writer = new EventWriter(STDERR)
  const write = (line: string) => writer.write(terminal ? `${shorten(line)}\n` : line)
  return pino(options, { write })
}

/** A JSON log line for a person: time of day, who, what, then the other fields. Anything else stays as it is, without what a terminal would obey. */
export function shorten(line: string): string {
  const event = parse(line)
  if (!event) return printable(line.trimEnd().replaceAll('\t', ' '))
  const { time, name, level } = event as { time?: string; name?: string; level?: string }
  const msg = typeof event.msg === 'string' ? printable(event.msg) : undefined
  const more = Object.entries(event)
    .filter(([key]) => !SHOWN_BEFORE.has(key))
    .map(([key, value]) => printable(`${key}=${shown(value)}`))
  const dim = (text: string) => (text === '' ? '' : styleText('dim', text, { validateStream: false }))
  const colour = COLOURS[level ?? '']
  const words = colour ? styleText(colour, msg ?? level ?? '', { validateStream: false }) : (msg ?? '')
  return [dim(printable(`${String(time).slice(11, 19)} ${String(name).padEnd(10)}`)), words, dim(more.join(' '))].filter(Boolean).join(' ')
}

function parse(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}

function shown(value: unknown): string {
  const said = typeof value === 'object' && value !== null && 'message' in value ? value.message : value
  return said === value && typeof said === 'string' && /^[^\s\p{Cc}]*$/u.test(said) ? said : escapeInLine(JSON.stringify(said))
}
