import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { strangerAmong } from './command-line.ts'
import { purposeOf } from './results.ts'

const FOLDER = fileURLToPath(new URL('../', import.meta.url))
const NAMES = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length))

const run = (...words: string[]) => spawnSync(process.execPath, words, { cwd: FOLDER, encoding: 'utf8', timeout: 20_000 })

test.each(NAMES)('%s says what it measures and how, and measures nothing', (name) => {
  const { status, stdout } = run(`${name}.ts`, '--help')
  expect(stdout).toContain(purposeOf(name))
  expect(stdout).toMatch(/^ {2}--no-save {2}/m)
  expect(status).toBe(0)
})

test('an option that a measurement does not have is refused, and those that it has are named', () => {
  for (const words of [['claim.ts'], ['support/run.ts', 'claim']]) {
    const { status, stderr } = run(...words, '--secods', '1')
    expect(stderr).toContain('There is no option --secods.')
    expect(stderr).toContain('--seconds N')
    expect(status).toBe(1)
  }
})

const OPTIONS = { 'seconds N': 'measure for so long', alone: 'without the others' }

test.each([
  [[], undefined],
  [['--seconds', '3', '--alone'], undefined],
  [['--alone', '3'], '3'],
  [['--second', '3'], '--second'],
  [['serve'], 'serve'],
])('of the words %j the stranger is %j', (words, stranger) => {
  expect(strangerAmong(words, OPTIONS)).toBe(stranger)
})
