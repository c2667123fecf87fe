import { execFileSync, spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { findAllocator } from '../src/edge/allocator.ts'

/**
 * A Debian package, the program that shows that it is there, and the services that it would start by itself. `isThere` where it is no program
 * that shows it.
 */
export type DebianPackage = { name: string; program: string; services?: string[]; isThere?(): boolean }

/** What the tests and measurements run beside Namesake. */
export const PACKAGES: readonly DebianPackage[] = [
  { name: 'pebble', program: 'pebble' },
  { name: 'postgresql-15', program: '/usr/lib/postgresql/15/bin/pgbench', services: ['postgresql'] },
  { name: 'nsd', program: 'nsd', services: ['nsd'] },
  { name: 'nginx', program: 'nginx', services: ['nginx'] },
  { name: 'haproxy', program: 'haproxy', services: ['haproxy'] },
  { name: 'caddy', program: 'caddy', services: ['caddy', 'caddy-api'] },
  { name: 'chromium-headless-shell', program: 'chromium-headless-shell' }, // a quarter of chromium's time for a page
  { name: 'wrk', program: 'wrk' },
  { name: 'nghttp2-client', program: 'h2load' },
  { name: 'bind9-dnsutils', program: 'dig' },
  { name: 'curl', program: 'curl' },
  { name: 'openssl', program: 'openssl' },
  { name: 'systemd', program: 'systemd-analyze' },
  { name: 'iproute2', program: 'ip' },
  { name: 'nftables', program: 'nft', services: ['nftables'] },
  { name: 'faketime', program: 'faketime' },
  { name: 'libjemalloc2', program: 'libjemalloc.so.2', isThere: () => findAllocator() !== undefined },
]

// Where Debian puts servers: not in an ordinary user's PATH.
const SYSTEM_FOLDERS = ['/usr/sbin', '/sbin']
const SERVICE_POLICY = '/usr/sbin/policy-rc.d'
const LOCK_TIMEOUT_S = 300

/** The PATH in which every program of PACKAGES is found. */
export function systemPath(path = ''): string {
  const folders = path.split(delimiter)
  return [...folders, ...SYSTEM_FOLDERS.filter((folder) => !folders.includes(folder))].join(delimiter)
}

/**
 * Installs those of the packages that are missing, with Debian's apt-get, and says so; their services neither start nor are enabled.
 * Throws an Error that names the command to run when that cannot be done: not root, no apt-get, or apt-get failed.
 */
export function installMissing(packages: readonly DebianPackage[]): void {
  const missing = packages.filter((one) => !isInstalled(one))
  if (missing.length === 0) return
  const names = missing.map(({ name }) => name)
  console.log(`Installing from Debian what the tests run beside Namesake: ${names.join(', ')}`)
  if (process.getuid?.() !== 0) throw cannotInstall(names, 'this needs root')
  if (!isThere('apt-get')) throw cannotInstall(names, 'there is no apt-get here')
  if (apt('update') !== 0) console.log('apt-get update failed: going on with the package lists that are here')
  const status = withoutStartingServices(() => apt('install', '--yes', '--no-install-recommends', ...names))
  for (const service of missing.flatMap(({ services = [] }) => services)) disable(service)
  if (status !== 0) throw cannotInstall(names, 'apt-get failed, see above')
  const stillMissing = missing.filter((one) => !isInstalled(one)).map(({ name, program }) => `${program} (${name})`)
  if (stillMissing.length > 0) throw new Error(`apt-get succeeded, but did not bring ${stillMissing.join(', ')}`)
}

function isInstalled(one: DebianPackage): boolean {
  return one.isThere?.() ?? isThere(one.program)
}

function isThere(program: string): boolean {
  const candidates = program.startsWith('/')
    ? [program]
    : systemPath(process.env.PATH)
        .split(delimiter)
        .map((folder) => join(folder, program))
  return candidates.some(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function apt(...args: string[]): number | null {
  const options = ['-q', '-o', `DPkg::Lock::Timeout=${LOCK_TIMEOUT_S}`, '-o', 'Dpkg::Use-Pty=0']
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_SUSPEND: '1' }
  return spawnSync('apt-get', [...options, ...args], { env, stdio: ['ignore', 'inherit', 'inherit'] }).status
}

/** A machine that has a policy of its own (containers have: nothing starts) keeps it. */
function withoutStartingServices<T>(install: () => T): T {
  if (existsSync(SERVICE_POLICY)) return install()
  // It refuses only while this process lives, so a policy that is left behind by a killed run hinders nobody.
  writeFileSync(SERVICE_POLICY, `#!/bin/sh\n[ -d /proc/${process.pid} ] && exit 101\nexit 0\n`, { mode: 0o755 })
  try {
    return install()
  } finally {
    rmSync(SERVICE_POLICY, { force: true })
  }
}

/** Without this a service would take its ports at the machine's next boot. */
function disable(service: string): void {
  try {
    execFileSync('update-rc.d', [service, 'disable'], { env: { ...process.env, PATH: systemPath(process.env.PATH) }, stdio: 'ignore' })
  } catch {
    console.log(`Could not disable the service ${service}, which may start at the next boot`)
  }
}

function cannotInstall(names: readonly string[], why: string): Error {
  return new Error(
    `Some programs that the tests need are missing (${why}). Install them as root:\n  apt-get install --no-install-recommends ${names.join(' ')}`,
  )
}
