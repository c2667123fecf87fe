import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const modules = Object.fromEntries(
  ['lib/event-writer', 'lib/descriptor-writer', 'cli/supervisor-log'].map((name) => [name, new URL(`../${name}.ts`, import.meta.url).href]),
)
// Room for 1,024 bytes, as on a disk that fills up in the middle of somebody's eleventh line; then somebody makes room, and that line is still torn.
const SCRIPT = `
  const { EventWriter } = await import('${modules['lib/event-writer']}')
  const { DescriptorWriter } = await import('${modules['lib/descriptor-writer']}')
  const { createSupervisorLog } = await import('${modules['cli/supervisor-log']}')
  const { ftruncateSync, writeSync } = await import('node:fs')
  const { setTimeout: wait } = await import('node:timers/promises')
  const tear = () => writeSync(1, ('x'.repeat(99) + '\\n').repeat(11))
  const makeRoom = () => ftruncateSync(1, 550)
`

function linesOf(script: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'namesake-writer-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'log')
  const shell = `trap '' XFSZ; ulimit -f 2; exec "$0" --input-type=module -e "$1" >> "$2" 2>&1`
  const { status } = spawnSync('sh', ['-c', shell, process.execPath, SCRIPT + script, file], { encoding: 'utf8' })
  const lines = readFileSync(file, 'utf8').split('\n')
  expect(status, lines.at(-1)).toBe(0)
  expect(lines.splice(0, 6)).toEqual([...Array.from({ length: 5 }, () => 'x'.repeat(99)), 'x'.repeat(50)])
  return lines
}

test('the first event behind a full disk is whole, and so are those that found no room, whoever tore the last line', () => {
  const lines = linesOf(`
    const events = new EventWriter(1)
    tear()
    for (const n of [1, 2]) events.write('event ' + n + '\\n')
    makeRoom()
    events.write('event 3\\n')
  `)
  expect(lines).toEqual(['event 1', 'event 2', 'event 3', ''])
})

test('an event that was written in part is written anew', () => {
  const lines = linesOf(`
    const events = new EventWriter(1)
    writeSync(1, ('x'.repeat(99) + '\\n').repeat(10))
    events.write('a'.repeat(99) + '\\n')
    makeRoom()
    events.write('event 2\\n')
  `)
  expect(lines).toEqual(['a'.repeat(99), 'event 2', ''])
})

test('events that found a full disk are written once there is room, without another one', () => {
  const lines = linesOf(`
    const events = new EventWriter(1)
    tear()
    events.write('event 1\\n')
    makeRoom()
    await wait(500)
  `)
  expect(lines).toEqual(['event 1', ''])
})

test('who tore a line ends it once there is room, before somebody who has seen nothing of it writes', () => {
  const lines = linesOf(`
    const writer = new DescriptorWriter(1, 10_000)
    writer.write(Buffer.from(('x'.repeat(99) + '\\n').repeat(11)))
    await writer.written()
    makeRoom()
    await wait(500)
    writeSync(1, 'of somebody else\\n')
  `)
  expect(lines).toEqual(['of somebody else', ''])
})

test('what the supervisor says at a full disk, and first behind it, is whole', () => {
  const lines = linesOf(`
    const log = createSupervisorLog({ level: 'info', terminal: false })
    tear()
    log.info('kept')
    await wait(10)
    makeRoom()
    log.info('first')
  `)
  expect(lines.pop()).toBe('')
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ msg: 'kept' }, { msg: 'first' }])
})
