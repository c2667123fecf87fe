import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const LINES_MAX = 350
const LINES_ASK_WHY = 250

// Which folders of src each folder may import, beside itself. Whatever is not named here is wiring and may import everything.
const ARROWS: Record<string, readonly string[]> = {
  api: ['core', 'lib'],
  jobs: ['core', 'lib'],
  core: ['lib'],
  edge: ['lib'],
  replica: ['lib'],
  certs: ['lib'],
  probe: ['lib'],
  dns: ['lib'],
  lib: [],
}
const WIRING = ['roles', 'cli']
const OPEN_TO_ALL = ['src/hostname.ts', 'src/errors.ts', 'src/log.ts', 'src/own-files.ts']
const SETTINGS = ['src/config.ts', 'src/config-doubts.ts', 'src/config-names.ts', 'src/config-values.ts']
// The processes that hand their environment on to another.
const ENVIRONMENT_READERS = [...SETTINGS, 'src/main.ts', 'src/supervisor.ts']
const VAGUE_NAMES = /^(index|utils?|helpers?|types|shared|common|misc)\b/

type Locked = { resolved?: string; optionalDependencies?: Record<string, string> }
type Source = { path: string; text: string; imports: string[]; packages: string[] }

const everySource = globSync(['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts', 'sdk/**/*.ts', 'portal/**/*.{ts,tsx}'], {
  cwd: ROOT,
  exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path),
}).map(readSource)
const service = everySource.filter(({ path }) => path.startsWith('src/') && !/\.(test|fixture)\.ts$/.test(path))

describe('the arrows of the house', () => {
  test('each folder of src imports only the folders that it may', () => {
    const broken = service.flatMap(({ path, imports }) => {
      const folder = folderOf(path)
      const allowed = folder === undefined ? undefined : ARROWS[folder]
      if (allowed === undefined) return []
      return imports.filter((target) => !isAllowed(target, [folder!, ...allowed])).map((target) => `${path} → ${target}`)
    })
    expect(broken).toEqual([])
  })

  test('hostnames, errors, the log, where our files lie and the settings lean on nothing but lib', () => {
    const bottom = service.filter(({ path }) => [...OPEN_TO_ALL, ...SETTINGS].includes(path))
    const broken = bottom.flatMap(({ path, imports }) =>
      imports.filter((target) => !isAllowed(target, ['lib']) && !SETTINGS.includes(target)).map((target) => `${path} → ${target}`),
    )
    expect(broken).toEqual([])
  })

  test('every folder of src has its arrows', () => {
    const folders = new Set(service.map(({ path }) => folderOf(path)).filter((folder) => folder !== undefined))
    expect([...folders].filter((folder) => !(folder in ARROWS) && !WIRING.includes(folder))).toEqual([])
  })

  test('portal, sdk and examples import nothing of the service', () => {
    const outside = everySource.filter(({ path }) => /^(portal|sdk|examples)\//.test(path))
    expect(
      outside.flatMap(({ path, imports }) => imports.filter((target) => target.startsWith('src/')).map((target) => `${path} → ${target}`)),
    ).toEqual([])
  })

  test('sdk and the example application depend on no package', () => {
    const outside = everySource.filter(({ path }) => /^(sdk|examples)\//.test(path) && !path.endsWith('.test.ts'))
    expect(outside.flatMap(({ path, packages }) => packages.map((name) => `${path} → ${name}`))).toEqual([])
  })

  test('of all folders, core alone speaks to PostgreSQL, and api alone knows Fastify', () => {
    expect(importersOf('pg', 'kysely').filter((path) => folderOf(path) !== undefined && folderOf(path) !== 'core')).toEqual([])
    expect(importersOf('fastify').filter((path) => folderOf(path) !== 'api')).toEqual([])
    expect(pathsOf(({ path, text }) => /\bsql(<[^`]*>)?`/.test(text) && folderOf(path) !== 'core')).toEqual([])
  })
})

describe('how the code reads', () => {
  test('nothing is exported by default', () => {
    const configuration = /(^|\/)(vite|vitest)\.config\.ts$/
    expect(
      everySource.filter(({ path, text }) => /^export default\b/m.test(text) && !configuration.test(path)).map(({ path }) => path),
    ).toEqual([])
  })

  test('a file is a noun in kebab-case that says what it holds, and no barrel', () => {
    const isNamedBadly = ({ path }: Source) =>
      VAGUE_NAMES.test(basename(path)) || !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)+$/.test(basename(path))
    expect(
      everySource
        .filter(isNamedBadly)
        .map(({ path }) => path)
        .filter((path) => !path.startsWith('sdk/types.')),
    ).toEqual([])
    expect(pathsOf(({ text }) => /^export \* from/m.test(text))).toEqual([])
  })

  test(`no file of src has more than ${LINES_MAX} lines`, () => {
    const sized = service.map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    const large = sized.filter(({ lines }) => lines > LINES_ASK_WHY).map(({ path, lines }) => `${path} (${lines})`)
    if (large.length > 0) console.warn(`Over ${LINES_ASK_WHY} lines, perhaps two files each: ${large.join(', ')}`)
    expect(sized.filter(({ lines }) => lines > LINES_MAX).map(({ path, lines }) => `${path} (${lines})`)).toEqual([])
  })

  test('every file of src is used, and says what it is for', () => {
    const used = new Set(service.flatMap(({ imports }) => imports))
    const isEntry = (path: string) => read('rolldown.config.ts').includes(`'${path}'`)
    expect(pathsOf(({ path }) => !used.has(path) && !isEntry(path))).toEqual([])
    expect(pathsOf(({ text }) => !/\/\*\*|^\/\/ /m.test(text))).toEqual([])
  })

  test('the environment is read in one place', () => {
    const isReader = (path: string) => ENVIRONMENT_READERS.includes(path) || path.startsWith('src/cli/')
    expect(pathsOf(({ path, text }) => /\bprocess\.env\b/.test(text) && !isReader(path))).toEqual([])
  })
})

describe('the books', () => {
  test('docs/operations.md explains every setting, and none that does not exist', () => {
    const settings = matches(read('src/config.ts'), /\b(?:optional|required)\(\s*'([A-Z_]+)'/g).map((name) => `NAMESAKE_${name}`)
    const explained = matches(read('docs/operations.md'), /`(NAMESAKE_[A-Z_]+)`/g)
    expect(settings.length).toBeGreaterThan(0)
    expect([...new Set(explained)].sort()).toEqual([...new Set(settings)].sort())
  })

  test('docs/api.md names every reason that a visitor may read in Namesake-Error', () => {
    const reasons = matches(/FAILURE_REASONS = \[([^\]]*)\]/.exec(read('src/edge/upstream.ts'))![1]!, /'([a-z-]+)'/g)
    const explained = matches(/\*\*When it fails\*\*[^.]*\./.exec(read('docs/api.md'))![0], /`([a-z-]+)`/g)
    expect(reasons.length).toBeGreaterThan(5)
    expect(reasons.filter((reason) => !explained.includes(reason))).toEqual([])
  })

  test('docs/operations.md explains every metric, and none that does not exist', () => {
    const metrics = service.flatMap(({ text }) => matches(text, /\bname: '(namesake_[a-z_]+)'/g))
    const explained = matches(read('docs/operations.md'), /^\| `(namesake_[a-z_]+)`/gm)
    expect([...new Set(explained)].sort()).toEqual([...new Set(metrics)].sort())
  })

  test('npm ci accepts the lockfile: it has every platform of every package (npm run lock), and no address of a registry', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> }
    const paths = Object.keys(packages)
    const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
    expect(wanted.filter((name) => !paths.some((path) => `/${path}`.endsWith(`/node_modules/${name}`)))).toEqual([])
    expect(paths.filter((path) => packages[path]?.resolved?.startsWith('http'))).toEqual([])
  })

  test('the README has every folder of src on its map', () => {
    const readme = read('README.md')
    const folders = new Set(service.map(({ path }) => folderOf(path)).filter((folder) => folder !== undefined))
    expect([...folders].filter((folder) => !readme.includes(`${folder}/`))).toEqual([])
  })

  test('every link between our own pages leads somewhere', () => {
    const pages = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: ROOT, exclude: (path) => path.includes('node_modules') })
    const broken = pages.flatMap((page) =>
      matches(read(page).replace(/`[^`]*`/g, ''), /\]\(([^)#:]+)(?:#[^)]*)?\)/g)
        .map((target) => normalize(join(dirname(page), target)))
        .filter((target) => globSync(target.replace(/\/$/, ''), { cwd: ROOT }).length === 0)
        .map((target) => `${page} → ${target}`),
    )
    expect(broken).toEqual([])
  })
})

function readSource(path: string): Source {
  const text = read(path)
  const named = matches(text, /^(?:import|export)\b[^'";]*?\bfrom '([^']+)'/gm)
  const others = [
    ...matches(text, /^import '([^']+)'/gm),
    ...matches(text, /\bimport\('([^']+)'\)/g),
    ...matches(text, /new URL\('([^']+\.ts)', import\.meta/g),
  ]
  const targets = [...named, ...others]
  return {
    path,
    text,
    imports: targets.filter((target) => target.startsWith('.')).map((target) => normalize(join(dirname(path), target))),
    packages: targets.filter((target) => !/^(\.|node:)/.test(target)),
  }
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1]!)
}

/** `api` of `src/api/app.ts`; undefined of a file that lies in src itself. */
function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1]
}

function isAllowed(target: string, folders: readonly string[]): boolean {
  return OPEN_TO_ALL.includes(target) || folders.includes(folderOf(target) ?? '')
}

function importersOf(...packages: readonly string[]): string[] {
  return pathsOf((source) => source.packages.some((name) => packages.includes(name)))
}

function pathsOf(wanted: (source: Source) => boolean): string[] {
  return service.filter(wanted).map(({ path }) => path)
}
