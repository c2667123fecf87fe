import { existsSync, statSync } from 'node:fs'

/**
 * The folder that this process was started in, by the name that it was given there: where that is a link, another release may be behind it by the
 * time a successor starts. `named` is the shell's PWD.
 */
export function workingFolder(named: string | undefined): string {
  const real = process.cwd()
  const [there, here] = [named, real].map((path) => path?.startsWith('/') && statSync(path, { throwIfNoEntry: false }))
  return named && there && here && there.ino === here.ino && there.dev === here.dev ? named : real
}

/** The first of the folders that is still there: nothing starts in one that went with a former release. */
export function standing(...folders: (string | undefined)[]): string | undefined {
  return folders.find((folder) => folder !== undefined && existsSync(folder))
}
