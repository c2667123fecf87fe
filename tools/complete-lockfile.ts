// Adds what npm leaves out of package-lock.json: `npm run lock`, after each change of a dependency.
import { readFileSync, writeFileSync } from 'node:fs'

type Entry = {
  version?: string
  dev?: boolean
  optional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
  optionalDependencies?: Record<string, string>
}

const LOCKFILE = new URL('../package-lock.json', import.meta.url)
const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const PROCESSORS = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']

const lockfile = JSON.parse(readFileSync(LOCKFILE, 'utf8')) as { packages: Record<string, Entry> }
const added = complete(lockfile.packages)
lockfile.packages = Object.fromEntries(Object.entries(lockfile.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(LOCKFILE, `${JSON.stringify(lockfile, null, 2)}\n`)
console.log(added.length === 0 ? 'package-lock.json is complete' : `Added to package-lock.json: ${added.join(', ')}`)

/**
 * A package with binaries lists one optional package for each platform. npm drops those that the registry does not serve from the lockfile, and then
 * `npm ci` refuses the lockfile because they are missing. An entry with the platform satisfies it, and is never fetched on another.
 */
function complete(packages: Record<string, Entry>): string[] {
  const missing = Object.entries(packages).flatMap(([path, entry]) =>
    Object.entries(entry.optionalDependencies ?? {})
      .filter(([name]) => !isThere(packages, path, name))
      .map(([name, version]) => ({ name, version, dev: entry.dev })),
  )
  for (const { name, version, dev } of missing) {
    if (!/^\d+\.\d+\.\d+/.test(version)) throw new Error(`${name} is wanted as ${version}: give it an entry by hand`)
    packages[`node_modules/${name}`] = { version, ...(dev && { dev }), optional: true, ...platformOf(name) }
  }
  return missing.map(({ name }) => name)
}

/** As Node looks a package up: beside the one that wants it, then in each folder above. */
function isThere(packages: Record<string, Entry>, path: string, name: string): boolean {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    if (`${folder}${folder && '/'}node_modules/${name}` in packages) return true
    if (folder === '') return false
  }
}

/** What the name says: `@biomejs/cli-linux-x64-musl`. */
function platformOf(name: string): Pick<Entry, 'os' | 'cpu' | 'libc'> {
  const words = name.slice(name.indexOf('/') + 1).split('-')
  const os = words.filter((word) => SYSTEMS.includes(word))
  const cpu = words.filter((word) => PROCESSORS.includes(word))
  if (cpu.length !== 1) throw new Error(`${name} does not say for which platform it is: give it an entry by hand`)
  const musl = words.some((word) => word.startsWith('musl'))
  return { cpu, ...(os.length > 0 && { os }), ...(os.includes('linux') && { libc: [musl ? 'musl' : 'glibc'] }) }
}
