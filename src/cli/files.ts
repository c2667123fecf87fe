import { randomBytes } from 'node:crypto'
import { lstatSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const PEM_BYTES_MAX = 100_000
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

// Each function throws a plain Error that names the file as it was given, and what is wrong with it.

/**
 * Writes files that their owner alone may read, in the place of those that are there: all of them, or none where one cannot be written, or is
 * another one's by whichever name. Links are followed, and stay; what is no file, as a pipe or a device, is written into as it is.
 */
export function writePrivately(files: readonly { path: string; text: string }[]): void {
  const written: { path: string; aside: string; place: string }[] = []
  try {
    for (const { path, text } of files) {
      writing(path, () => {
        const place = placeOf(path)
        if (!place.isFile) return writeFileSync(place.path, text)
        if (written.some((one) => one.place === place.path)) throw new Error('it is named twice: name two files')
        const aside = `${place.path}.${randomBytes(4).toString('hex')}`
        written.push({ path, aside, place: place.path })
        writeFileSync(aside, text, { mode: 0o600, flag: 'wx' })
      })
    }
    for (const { path, aside, place } of written) writing(path, () => renameSync(aside, place))
  } catch (error) {
    for (const { aside } of written) rmSync(aside, { force: true })
    throw error
  }
}

function placeOf(path: string): { path: string; isFile: boolean } {
  if (!lstatSync(path, { throwIfNoEntry: false })) return { path: join(realpathSync(dirname(path)), basename(path)), isFile: true }
  const there = statSync(path, { throwIfNoEntry: false })
  if (!there) throw new Error('it is a link that leads nowhere')
  if (there.isDirectory()) throw new Error('it is a folder: name a file in it')
  return { path: there.isFile() ? realpathSync(path) : path, isFile: there.isFile() }
}

/** Reads a file that should be PEM. Throws when it is far too large for that. */
export function readPem(path: string): string {
  const { size } = reading(path, () => statSync(path))
  if (size > PEM_BYTES_MAX) throw new Error(`${path} is too large to be a certificate or a key`)
  return reading(path, () => readFileSync(path, 'utf8')) // what stands around the blocks may be in any encoding
}

/** Reads a file that should be UTF-8, and throws where it is not. */
export function readText(path: string): string {
  return reading(path, () => UTF_8.decode(readFileSync(path)))
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Error(`${path} cannot be read: ${troubleOf(error, NOT_READ)}`)
  }
}

function writing(path: string, write: () => void): void {
  try {
    write()
  } catch (error) {
    throw new Error(`${path} cannot be written: ${troubleOf(error, NOT_WRITTEN)}`)
  }
}

const NOT_READ: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8: save it as UTF-8',
}
const NOT_WRITTEN: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such folder: make it first, or name another path',
  ENOTDIR: 'what should be its folder is a file: name another path',
  EACCES: 'this user may not write there: name another path, or run this as somebody who may',
  EROFS: 'nothing can be written there: name another path',
  ENOSPC: 'the disk is full: make room, or name another path',
}

/** What the system says behind the comma is a path that nobody has given. */
function troubleOf(error: unknown, known: Readonly<Record<string, string>>): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return known[code] ?? message.split(', ')[0]!
}
