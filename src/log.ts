import { pino } from 'pino'
import { pause } from './lib/back-off.ts'
import { escapeInLine } from './lib/control-characters.ts'
import { allWritten, DescriptorWriter, isPipe, isWriting } from './lib/descriptor-writer.ts'
import { EventWriter } from './lib/event-writer.ts'
import { LineBytes } from './lib/line-bytes.ts'

export type Log = pino.Logger

const STDOUT = 1
/** A write costs a thread a wake-up, whatever its size. */
const GATHERED_BYTES = 128 * 1024
const WRITTEN_BYTES_MAX = 2 * GATHERED_BYTES
const LINE_BYTES_EXPECTED_MAX = 16 * 1024
const KEPT_BYTES_MAX = 8 * 1024 * 1024
const HANDED_OVER_MS = 1_000
const FLUSH_TIMEOUT_MS = 2_000
/** PIPE_BUF of pipe(7): the most that nobody else's lines come in between, however slowly somebody reads. */
const UNTORN_BYTES = 4_096
const LINE_END = 10

/**
 * One JSON line an event on standard output; `name` says which process wrote it.
 * Values under the paths below never appear, wherever an object that holds them is logged.
 */
export function createLog(name: string, level = 'info'): Log {
  const options: pino.LoggerOptions = {
    name,
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    hooks: { streamWrite: escapeInLine },
    redact: {
      paths: ['token', '*.token', 'authorization', '*.authorization', 'cookie', '*.cookie', 'keyPem', '*.keyPem', 'secret', '*.secret'],
      censor: '[hidden]',
    },
  }
  return pino(options, new EventWriter(STDOUT))
}

/** Where lines are put together. */
export type LineSink = {
  readonly line: LineBytes
  /** The line is whole, with its line end. */
  ended(): void
}

/**
 * Standard output for lines by the thousand: they leave together, a second late at most. On a pipe or a socket, which all processes of the tree
 * share, they leave in pieces that stay whole beside those of others; a line of more than 4 KB may still be torn there. Lines that nobody takes
 * are dropped beyond some megabytes. `flush` before the process ends; it waits two seconds at most.
 */
export function createLineSink(): LineSink & { flush(): Promise<void> } {
  const piecesMax = isPipe(STDOUT) ? UNTORN_BYTES : WRITTEN_BYTES_MAX
  const writer = new DescriptorWriter(STDOUT, KEPT_BYTES_MAX)
  const line = new LineBytes(GATHERED_BYTES + LINE_BYTES_EXPECTED_MAX)
  const handOver = () => {
    if (line.length === 0) return
    for (const piece of wholeLines(line.take(), piecesMax)) writer.write(piece)
  }
  setInterval(handOver, HANDED_OVER_MS).unref()
  return {
    line,
    ended() {
      if (line.length >= GATHERED_BYTES) handOver()
    },
    async flush() {
      handOver()
      await inTime(writer.written())
    },
  }
}

/** Ends the process once all that it logged is out, or two seconds later. Where nobody reads it is killed: node would wait at its end for who writes. */
export async function leave(code: number): Promise<never> {
  await inTime(allWritten())
  if (isWriting()) process.kill(process.pid, 'SIGKILL')
  process.exit(code)
}

async function inTime(task: Promise<void>): Promise<void> {
  const patience = new AbortController()
  await Promise.race([task, pause(FLUSH_TIMEOUT_MS, patience.signal)])
  patience.abort()
}

/** The lines in pieces of so many bytes at most; one that is longer is a piece of its own. */
function* wholeLines(lines: Buffer, bytesMax: number): Generator<Buffer> {
  for (let from = 0; from < lines.length; ) {
    const last = from + bytesMax >= lines.length ? lines.length - 1 : lines.lastIndexOf(LINE_END, from + bytesMax - 1)
    const end = (last >= from ? last : lines.indexOf(LINE_END, from)) + 1 || lines.length
    yield lines.subarray(from, end)
    from = end
  }
}
