import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { CommanderError } from 'commander'
import { describe, expect, test } from 'vitest'
import { allCommands } from '../../src/cli/commands.ts'
import { createProgram } from '../../src/cli/program.ts'
import { readConfig } from '../../src/config.ts'
import { deployFiles, type Manifest, manifests, ROOT, readDeploy, readYaml } from '../support/deploy-files.ts'

const files = deployFiles()
const SECRET = 'the secret of an example is longer than 32 bytes'

/** What a start under these variables would warn of or refuse. */
function complaints(env: Record<string, string>): string[] {
  return readConfig({ NAMESAKE_SECRET: SECRET, ...env }, tmpdir()).warnings
}

describe('the settings in deploy/', () => {
  test('exist, every one of them', () => {
    const mentioned = new Set(files.flatMap(({ text }) => text.match(/\bNAMESAKE_[A-Z_]+\b/g) ?? []))
    expect(mentioned.size).toBeGreaterThan(15)
    const { warnings } = readConfig({ ...Object.fromEntries([...mentioned].map((name) => [name, ''])) }, tmpdir())
    expect(warnings).toEqual([])
  })

  test('of the systemd example are accepted by a start', () => {
    expect(complaints(parseEnv(readDeploy('systemd/namesake.env.example')) as Record<string, string>)).toEqual([])
  })

  test('and in the guide have no comment behind them, which systemd takes for a part of the value', () => {
    const guide = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
    const lines = [...files.map(({ text }) => text), guide].join('\n').match(/^NAMESAKE_[A-Z_]+=.*$/gm)!
    expect(lines.length).toBeGreaterThan(15)
    expect(lines.filter((line) => /\s#/.test(line))).toEqual([])
  })

  test('of the compose example are accepted by a start', () => {
    const [{ services }] = readYaml('compose.yaml') as [{ services: Record<string, { environment: Record<string, string> }> }]
    const example = { ...parseEnv(readDeploy('compose.env.example')), POSTGRES_PASSWORD: 'aa', NAMESAKE_SECRET: SECRET } as Record<
      string,
      string
    >
    const interpolate = (text: string) =>
      text.replace(/\$\{([A-Z_]+):[?-]([^}]*)\}/g, (_, name: string, other: string) => example[name] || other)
    for (const name of ['edge', 'worker']) {
      const environment = Object.entries(services[name]!.environment)
      expect(complaints(Object.fromEntries(environment.map(([key, value]) => [key, interpolate(value)])))).toEqual([])
    }
  })

  test('of the Kubernetes examples are accepted by a start', () => {
    const all = manifests() as (Manifest & { data?: Record<string, string>; stringData?: Record<string, string> })[]
    const settings = all.find(({ kind }) => kind === 'ConfigMap')!.data!
    for (const { stringData } of all.filter(({ kind }) => kind === 'Secret'))
      expect(complaints({ ...settings, ...stringData, NAMESAKE_SECRET: SECRET })).toEqual([])
  })
})

describe('the commands in deploy/', () => {
  const written = /(?:bin\/namesake|command:|args:|CMD)\s+(.*\bstart\b.*)$/gm
  const lines = files.flatMap(({ path, text }) =>
    [...text.matchAll(written)].map(([, words]) => ({ path, words: words!.match(/[\w,-]+(?<!,)/g)! })),
  )

  test('are there', () => {
    expect(lines.length).toBeGreaterThanOrEqual(9)
  })

  test.each(lines)('$path: namesake $words parses', async ({ words }) => {
    const commands = allCommands().map((command) => command.action(() => {}))
    const outcome = await createProgram(commands)
      .parseAsync(words, { from: 'user' })
      .then(
        () => 'parsed',
        (error: CommanderError) => error.message,
      )
    expect(outcome).toBe('parsed')
  })
})

describe('the ports in deploy/', () => {
  test('are those of docs/operations.md and of the defaults', () => {
    const { config } = readConfig({}, tmpdir())
    const ports = [config.httpAddr, config.httpsAddr, config.apiAddr].map(({ port }) => port)
    expect(/^EXPOSE (.*)$/m.exec(readDeploy('Dockerfile'))![1]).toBe(ports.join(' '))
    const published = files.flatMap(({ text }) => [...text.matchAll(/containerPort: (\d+)/g)].map(([, port]) => Number(port)))
    expect([...new Set(published)].sort()).toEqual(
      [config.apiAddr.port, config.internalAddr.port, config.httpAddr.port, config.httpsAddr.port].sort(),
    )
  })
})
