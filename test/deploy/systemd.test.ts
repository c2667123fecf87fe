import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { handedSockets } from '../../src/listening-sockets.ts'
import { wantedSockets } from '../../src/role-tree.ts'
import { deployFiles, ROOT, readDeploy } from '../support/deploy-files.ts'

const EXPOSURE_MAX = 2 // of 10: what systemd calls OK begins below 4
const UNITS = deployFiles('systemd/*.{service,socket}')
const DROP_INS = deployFiles('systemd/roles/*.conf')

/** The units as they would be installed, with this working copy in the place of /opt/namesake; the drop-in, if any, beside the service. */
function install(dropIn?: string): { dir: string; paths: string[]; [Symbol.dispose](): void } {
  const dir = mkdtempSync(join(tmpdir(), 'namesake-units-'))
  const here = (text: string) => text.replaceAll('/opt/namesake/', ROOT)
  const paths = UNITS.map(({ path, text }) => {
    const joined = dropIn && path.endsWith('.service') ? `${text}\n${dropIn}` : text
    writeFileSync(join(dir, basename(path)), here(joined))
    return join(dir, basename(path))
  })
  return { dir, paths, [Symbol.dispose]: () => rmSync(dir, { recursive: true }) }
}

function verify(dropIn?: string): { status: number | null; output: string } {
  using installed = install(dropIn)
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--recursive-errors=no', ...installed.paths], {
    encoding: 'utf8',
  })
  return { status, output: `${stdout}${stderr}`.replaceAll(installed.dir, '') }
}

test('systemd finds nothing wrong with the units', () => {
  expect(verify()).toEqual({ status: 0, output: '' })
})

test.each(DROP_INS)('systemd finds nothing wrong with the drop-in $path', ({ text }) => {
  expect(verify(text)).toEqual({ status: 0, output: '' })
})

test('the service is exposed to little, as systemd counts it', () => {
  using installed = install()
  const service = installed.paths.find((path) => path.endsWith('.service'))!
  const output = execFileSync('systemd-analyze', ['security', '--offline=true', '--no-pager', service], { encoding: 'utf8' })
  expect(Number(/exposure level for \S+: ([\d.]+)/.exec(output)?.[1])).toBeLessThanOrEqual(EXPOSURE_MAX)
})

test('every socket has a name that a start takes, and the port that visitors use', () => {
  const sockets = UNITS.filter(({ path }) => path.endsWith('.socket')).map(({ text }) => ({
    name: /^FileDescriptorName=(.*)$/m.exec(text)![1]!,
    service: /^Service=(.*)$/m.exec(text)![1],
    port: Number(/^Listen(?:Stream|Datagram)=(?:.*:)?(\d+)$/m.exec(text)![1]),
  }))
  const { config } = readConfig({ NAMESAKE_DNS_ZONE: 'acme.example.com' }, tmpdir())
  const known = wantedSockets({ config, roles: ['api', 'edge', 'dns'], demo: false }).map(({ name }) => name)
  expect(known).toEqual(expect.arrayContaining(sockets.map(({ name }) => name)))
  expect(Object.fromEntries(sockets.map(({ name, port }) => [name, port]))).toEqual({
    api: 4000,
    dns: 53,
    'dns-udp': 53,
    http: 80,
    https: 443,
  })
  expect(new Set(sockets.map(({ service }) => service))).toEqual(new Set(['namesake.service']))
  const names = sockets.map(({ name }) => name)
  const handed = handedSockets({ LISTEN_PID: '7', LISTEN_FDS: String(names.length), LISTEN_FDNAMES: names.join(':') }, 7)
  expect([...handed.keys()]).toEqual(names)
})

test('wherever the guide stops the service it stops every socket too, which would start it again at the next visit', () => {
  const guide = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
  const stops = [...guide.matchAll(/systemctl stop ([^`\n]*)/g)].map(([, units]) => units)
  expect(stops.length).toBeGreaterThanOrEqual(3)
  expect(new Set(stops)).toEqual(new Set(["namesake.service 'namesake-*.socket'"]))
  const sockets = UNITS.map(({ path }) => basename(path)).filter((unit) => unit.endsWith('.socket'))
  expect(sockets.filter((unit) => !unit.startsWith('namesake-'))).toEqual([])
})

test('the guide takes every unit away by its name, for a pattern disables none', () => {
  const guide = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
  const disabled = /^systemctl disable --now (.*)$/m.exec(guide)![1]!.split(' ')
  expect(disabled.sort()).toEqual(UNITS.map(({ path }) => basename(path)).sort())
})

test('the service has as long to stop as its processes have to drain', () => {
  const service = readDeploy('systemd/namesake.service')
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(service)![1])).toBeGreaterThan(40)
})
