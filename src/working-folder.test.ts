import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { standing } from './working-folder.ts'

let place: string
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'namesake-folders-'))
  for (const name of ['former', 'next', 'data']) mkdirSync(join(place, name))
})
afterEach(() => rmSync(place, { recursive: true }))

test.each([
  ['the first that is there', false, [], ['next', 'former'], 'next'],
  ['another where the first has gone', false, [], ['gone', 'former'], 'former'],
  ['the data directory where all have gone', false, [], ['gone'], 'data'],
  ['the former one where the next has no .env and one was read', true, ['former'], ['next', 'former'], 'former'],
  ['the next one where it has a .env', true, ['former', 'next'], ['next', 'former'], 'next'],
  ['none where the .env that was read has gone', true, [], ['next', 'gone'], undefined],
])('a process starts in %s', (_, hasDotEnv, withDotEnv, folders, expected) => {
  for (const name of withDotEnv) writeFileSync(join(place, name, '.env'), '')
  const at = (name: string) => join(place, name)
  const here = { path: at('former'), name: at('former'), hasDotEnv }
  expect(standing(folders.map(at), here, at('data'))).toBe(expected && at(expected))
})
