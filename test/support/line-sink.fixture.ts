import { createLineSink, createLog, leave } from '../../src/log.ts'

// Writes so many numbered lines of many lengths to standard output as fast as it can, and says so on standard error.
const [name, count, ...wishes] = process.argv.slice(2) as [string, string, ...string[]]
if (wishes.includes('without-blocking')) void process.stdout // which sets the pipe so for all who share it, as a supervisor's does
const sink = createLineSink()
for (let n = 0; n < Number(count); n += 1) {
  sink.line.bytes(Buffer.from(`${JSON.stringify({ name, n, text: name.repeat((n * 37) % 900) })}\n`))
  sink.ended()
}
const log = createLog('a')
if (wishes.includes('events')) for (let n = 0; n < Number(count); n += 1) log.warn('an event')
process.stderr.write('written\n')
await sink.flush()
if (wishes.includes('events')) process.stderr.write('flushed\n')
if (wishes.includes('exit')) await leave(0)
