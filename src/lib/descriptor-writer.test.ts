import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const WRITER = fileURLToPath(new URL('descriptor-writer.ts', import.meta.url))
// Room for 1,024 bytes, as on a disk that fills up: the second piece has room in part, the third in none, and then somebody makes room.
const SCRIPT = `
  const { DescriptorWriter } = await import('${WRITER}')
  const { ftruncateSync } = await import('node:fs')
  const writer = new DescriptorWriter(1, 10_000)
  const piece = (letter) => Buffer.from((letter.repeat(99) + '\\n').repeat(7))
  for (const letter of 'ab') { writer.write(piece(letter)); await writer.written() }
  writer.write(piece('c'))
  await writer.written()
  const { readFileSync } = await import('node:fs')
  process.stderr.write(readFileSync(process.argv[1]))
  ftruncateSync(1, 0)
  writer.write(piece('d'))
  await writer.written()
`

test('behind a piece that found room in part a new line begins', () => {
  const folder = mkdtempSync(join(tmpdir(), 'namesake-writer-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'log')
  const script = `trap '' XFSZ; ulimit -f 2; exec "$0" --input-type=module -e "$1" "$2" >> "$2"`
  const { stderr, status } = spawnSync('sh', ['-c', script, process.execPath, SCRIPT, file], { encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  const before = stderr.split('\n')
  expect(before).toEqual([
    ...Array.from({ length: 7 }, () => 'a'.repeat(99)),
    ...Array.from({ length: 3 }, () => 'b'.repeat(99)),
    'b'.repeat(24),
  ])
  expect(readFileSync(file, 'utf8')).toBe(`\n${`${'d'.repeat(99)}\n`.repeat(7)}`)
})
