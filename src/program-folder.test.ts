import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runsScript } from './program-folder.ts'

test('a process of this release is known whether it runs what was built or the sources, and one of another program is not', async () => {
  const program = mkdtempSync(join(tmpdir(), 'namesake-program-'))
  for (const folder of ['src', 'dist', 'other']) mkdirSync(join(program, folder))
  const scripts = { sources: join(program, 'src/main.ts'), built: join(program, 'dist/main.js'), other: join(program, 'other/main.js') }
  for (const script of Object.values(scripts)) writeFileSync(script, 'console.log(1); setInterval(() => {}, 1_000)')
  for (const [kind, script] of Object.entries(scripts)) {
    const child = spawn(process.execPath, [script, 'edge'], { stdio: ['ignore', 'pipe', 'ignore'] })
    await once(child.stdout!, 'data')
    const known = [runsScript(child.pid!, scripts.sources), runsScript(child.pid!, scripts.built)]
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect({ kind, known }).toEqual({ kind, known: kind === 'other' ? [false, false] : [true, true] })
  }
  rmSync(program, { recursive: true })
})
