import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type ProjectCopy = { folder: string; launcher: string; remove(): void }

const PROJECT = fileURLToPath(new URL('../../', import.meta.url))
const PARTS = ['bin', 'dist', 'examples', 'node_modules', 'package-lock.json', 'package.json', 'portal/dist', 'sql', 'src']

/** The project as it is installed, below a new folder with this mode, by hard links where the file system can. */
export function copyProject(mode: number): ProjectCopy {
  const around = mkdtempSync(join(tmpdir(), 'namesake-project-'))
  const folder = join(around, 'namesake')
  for (const part of PARTS.filter((name) => existsSync(join(PROJECT, name)))) copy(join(PROJECT, part), join(folder, part))
  chmodSync(around, mode)
  return { folder, launcher: join(folder, 'bin/namesake'), remove: () => rmSync(around, { recursive: true, force: true }) }
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  try {
    execFileSync('cp', ['-al', from, to], { stdio: 'pipe' })
  } catch {
    rmSync(to, { recursive: true, force: true })
    execFileSync('cp', ['-a', from, to])
  }
}
