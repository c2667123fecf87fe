import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The folder that this process was started in, and by the name that it was given there: where that is a link, another release may be behind it by
 * the time a successor starts. `hasDotEnv`: settings come from it.
 */
export type WorkingFolder = { path: string; name: string; hasDotEnv: boolean }

/** `named` is the shell's PWD, which counts where it leads here. */
export function readWorkingFolder(named: string | undefined): WorkingFolder {
  const path = process.cwd()
  const name = named?.startsWith('/') && isSame(named, path) ? named : path
  return { path, name, hasDotEnv: existsSync(join(path, '.env')) }
}

/**
 * Where another process starts: the first of the folders, at last the data directory, that is still there, since nothing starts in one that went
 * with a former release. Where settings came from a `.env`, only one with a `.env` will do: without it the process would run with others.
 */
export function standing(folders: readonly string[], { hasDotEnv }: WorkingFolder, dataDir: string): string | undefined {
  return [...folders, dataDir].find((folder) => existsSync(hasDotEnv ? join(folder, '.env') : folder))
}

function isSame(one: string, other: string): boolean {
  try {
    const [a, b] = [statSync(one), statSync(other)]
    return a.ino === b.ino && a.dev === b.dev
  } catch {
    return false
  }
}
