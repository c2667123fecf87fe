import { extname } from 'node:path'

/** Where a file of this release lies, by its path from the project's root: as it stands in src/ and as it is built to dist/, this code is one folder below. */
export function ownFile(path: string): URL {
  return new URL(`../${path}`, import.meta.url)
}

/** Where a program of this release lies that we run in a process or thread of its own, such as `main`: built where we are built ourselves. */
export function ownProgram(name: string): URL {
  return new URL(`${name}${extname(import.meta.url)}`, import.meta.url)
}
