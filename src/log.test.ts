import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const FIXTURE = fileURLToPath(new URL('../test/support/line-sink.fixture.ts', import.meta.url))
const LOG = new URL('log.ts', import.meta.url).href
const LINES = 4_000 // some 1.8 MB a process: lots of 128 KB, and many times what a pipe holds
const LAST_LINES = 100
const ENDED_WITHIN_MS = 20_000 // twice two seconds for whoever might read yet, and more on a busy machine

/** Runs the script in a shell: "$0" "$1" are the program that writes lines, what follows are the arguments. */
function run(script: string, ...args: (string | number)[]): ChildProcessWithoutNullStreams {
  return spawn('sh', ['-c', script, process.execPath, FIXTURE, ...args.map(String)])
}

/** How many lines of each process came, one after the other, and what was no line. */
async function read(output: Readable): Promise<{ whole: Record<string, number>; torn: string[] }> {
  const whole: Record<string, number> = { a: 0, b: 0 }
  const torn: string[] = []
  for await (const line of createInterface(output)) {
    try {
      const { name, n } = JSON.parse(line) as { name: string; n: number }
      expect(n).toBe(whole[name]!++)
    } catch {
      torn.push(line.slice(0, 80))
    }
  }
  return { whole, torn }
}

test.each([
  ['a pipe', '{ "$0" "$1" a "$2" & "$0" "$1" b "$2" & wait; } | cat'],
  ['a pipe that makes nobody wait', '{ "$0" "$1" a "$2" without-blocking & "$0" "$1" b "$2" & wait; } | cat'],
  ['a socket', '"$0" "$1" a "$2" & "$0" "$1" b "$2" & wait'],
])('lines of two processes that share %s with a slow reader come out whole, and none is missing', async (_, script) => {
  const shell = run(script, LINES)
  let written = 0
  for await (const _line of createInterface(shell.stderr)) if (++written === 2) break // both push, and nobody has read yet
  expect(await read(shell.stdout)).toEqual({ whole: { a: LINES, b: LINES }, torn: [] })
})

test('the last lines are out before a process ends', async () => {
  const { stdout } = run('"$0" "$1" a "$2" exit | cat', LAST_LINES)
  expect(await read(stdout)).toEqual({ whole: { a: LAST_LINES, b: 0 }, torn: [] })
})

test('an event says what a stranger wrote without a character that a terminal obeys or a reader of lines cuts at', async () => {
  const said = '\u009b2J\u009d0;owned\u009c\u0085\u2028\u007f'
  const script = `(await import('${LOG}')).createLog('a').warn({ said: process.argv[1] }, process.argv[1])`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, said])
  expect(stdout.trimEnd()).not.toMatch(/[\p{Cc}\u2028]/u)
  expect(JSON.parse(stdout)).toMatchObject({ said, msg: said })
})

// What a pipe is set to belongs to all who share it: each process that starts or ends may set it anew.
test.each([
  ['a pipe', 'exec 3<&0; { "$0" "$1" a "$2" events exit; echo ended >&2; } | { read -r _ <&3; cat; }'],
  [
    'a pipe that makes nobody wait',
    'exec 3<&0; { "$0" "$1" a "$2" without-blocking events exit; echo ended >&2; } | { read -r _ <&3; cat; }',
  ],
  ['a socket', '"$0" "$1" a "$2" events exit; echo ended >&2'],
])('%s that nobody reads from holds up no process that writes events, nor its end', async (_, script) => {
  const { stdin, stderr, stdout } = run(script, LINES)
  const words: string[] = []
  let writtenAt = Number.NaN
  for await (const word of createInterface(stderr)) {
    if (word !== 'Killed') words.push(word) // the shell's
    if (word === 'written') writtenAt = performance.now()
    if (word === 'ended') break
  }
  expect(words).toEqual(['written', 'flushed', 'ended'])
  expect(performance.now() - writtenAt).toBeLessThan(ENDED_WITHIN_MS)
  stdin.end() // whereupon the reader reads
  stdout.destroy()
})

test('a full disk costs the lines, and neither holds up nor ends a process', async () => {
  const { stderr, stdout } = run('"$0" "$1" a "$2" events exit > /dev/full; echo "ended with $?"', LAST_LINES)
  const words: string[] = []
  for await (const word of createInterface(stderr)) words.push(word)
  expect(words).toEqual(['written', 'flushed'])
  expect(await createInterface(stdout)[Symbol.asyncIterator]().next()).toMatchObject({ value: 'ended with 0' })
})

test('what any log of a process has said is out before it leaves, and its code is what it left with', async () => {
  const says = `for (let n = 0; n < ${LAST_LINES}; n += 1) log.warn({ n }, 'x'.repeat(3_000))`
  const script = `const { createLog, leave } = await import('${LOG}'); const log = createLog('a'); ${says}; createLog('b'); await leave(75)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  await pause(500) // until it waits for whoever reads
  const numbers: number[] = []
  for await (const line of createInterface(child.stdout)) numbers.push((JSON.parse(line) as { n: number }).n)
  expect(numbers).toEqual(Array.from({ length: LAST_LINES }, (_, n) => n))
  expect(await ended).toEqual([75, null])
})
