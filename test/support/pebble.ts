import 'reflect-metadata'
import { spawn } from 'node:child_process'
import { KeyObject } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509'
import { Agent, request } from 'undici'
import { freePorts } from './ports.ts'
import { eventually } from './tree.ts'

const START_TRIES_MAX = 3
const START_TIMEOUT_MS = 15_000
const STOP_TIMEOUT_MS = 5_000
const OUTPUT_CHARACTERS_MAX = 200_000
const DAY_MS = 24 * 3_600_000

export type PebbleOptions = {
  /** Where it fetches HTTP-01 challenges; by default a port that nobody listens on. */
  httpPort?: number
  /** Where it validates TLS-ALPN-01; by default the port for HTTP-01. */
  tlsPort?: number
  /** Per cent of good nonces that it refuses; 0 by default. */
  nonceReject?: number
  strict?: boolean
  /** Per cent of orders that reuse a valid authorization; 0 by default. Pebble adds one to it, so that it never reuses none. */
  authzReuse?: number
  /** Key id → base64url HMAC key. When given, an account needs one of them. */
  eab?: Record<string, string>
  /** Names that it refuses to issue for. */
  blocklist?: string[]
  validityS?: number
  /** `ip:port` of a DNS server; by default a pebble-challtestsrv of its own that answers 127.0.0.1 for every name. */
  dnsServer?: string
  env?: Record<string, string>
  /** Where it listens instead of 127.0.0.1, and what its command line begins with to run there. Needs `dnsServer`. */
  place?: { address: string; within: string[] }
}

/** What pebble-challtestsrv can be told, by its own names. */
export type DnsCommand =
  | { command: 'set-default-ipv4' | 'set-default-ipv6'; body: { ip: string } }
  | { command: 'add-a' | 'add-aaaa'; body: { host: string; addresses: string[] } }
  | { command: 'set-cname'; body: { host: string; target: string } }
  | { command: 'set-txt'; body: { host: string; value: string } }
  | { command: 'add-caa'; body: { host: string; policies: { tag: string; value: string }[] } }
  | {
      command: 'set-servfail' | 'clear-servfail' | 'clear-a' | 'clear-aaaa' | 'clear-cname' | 'clear-txt' | 'clear-caa'
      body: { host: string }
    }

export type Pebble = {
  directoryUrl: string
  /** PEM file that makes the directory's own TLS trusted: for NAMESAKE_ACME_CA_FILE. */
  caFile: string
  /** `ip:port` of the DNS server that it asks. */
  dnsServer: string
  /** The root of what it issues. */
  rootPem(): Promise<string>
  setDns(change: DnsCommand): Promise<void>
  /** Ends it and starts it again at the same address: it has then forgotten every account, order and root. */
  restart(): Promise<void>
  output(): string
  stop(): Promise<void>
}

/** Starts Debian's pebble (Let's Encrypt's test authority) on free loopback ports, and waits until its directory answers. */
export async function startPebble(options: PebbleOptions = {}): Promise<Pebble> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryStart(options)
    } catch (error) {
      // Between finding a free port and using it, another test may have taken it.
      if (attempt === START_TRIES_MAX || !/address already in use/.test(String(error))) throw error
    }
  }
}

async function tryStart(options: PebbleOptions): Promise<Pebble> {
  const [acme, management, dns, dnsManagement, nobody] = (await freePorts(5)) as [number, number, number, number, number]
  const folder = mkdtempSync(join(tmpdir(), 'namesake-pebble-'))
  chmodSync(folder, 0o755) // the service user reads the CA file
  const { address, within } = options.place ?? { address: '127.0.0.1', within: [] }
  const host = options.place ? address : 'localhost'
  const { keyFile, caFile } = await writeServerCertificate(folder, address)
  const agent = new Agent({ connect: { ca: readFileSync(caFile) } })
  const dnsServer = options.dnsServer ?? `127.0.0.1:${dns}`
  const config = writeConfig(folder, { address, acme, management, httpPort: options.httpPort ?? nobody, keyFile, caFile, options })
  const directoryUrl = `https://${host}:${acme}/dir`
  const managementUrl = `http://127.0.0.1:${dnsManagement}`

  const get = async (url: string) => (await request(url, { dispatcher: agent })).body.text()
  const launchPebble = () =>
    launch(
      [...within, 'pebble', '-config', config, '-dnsserver', dnsServer, ...(options.strict ? ['-strict'] : [])],
      pebbleEnvironment(options),
    )
  const challtestsrv = options.dnsServer ? undefined : launch(['pebble-challtestsrv', ...challtestsrvArguments(dns, dnsManagement)], {})
  let pebble = launchPebble()
  const output = () => [pebble.output(), challtestsrv?.output()].filter(Boolean).join('\n')
  const stop = async () => {
    await Promise.all([pebble.stop(), challtestsrv?.stop()])
    await agent.destroy()
    rmSync(folder, { recursive: true, force: true })
  }
  const untilReady = async () => {
    const hasEnded = () => pebble.hasEnded() || challtestsrv?.hasEnded()
    const answers = async () => (await get(directoryUrl)).includes('newNonce') && (!challtestsrv || (await fetch(managementUrl)).status > 0)
    const ready = eventually(async () => hasEnded() || answers(), START_TIMEOUT_MS)
    await ready.catch((cause) => failToStart(cause))
    if (hasEnded()) await failToStart()
  }
  const failToStart = async (cause?: unknown) => {
    await stop()
    throw new Error(`pebble did not start: ${output()}`, { cause })
  }

  await untilReady()
  return {
    directoryUrl,
    caFile,
    dnsServer,
    rootPem: () => get(`https://${host}:${management}/roots/0`),
    async setDns({ command, body }) {
      const answer = await fetch(`${managementUrl}/${command}`, { method: 'POST', body: JSON.stringify(body) })
      if (!answer.ok) throw new Error(`pebble-challtestsrv: ${command}: ${answer.status}`)
    },
    async restart() {
      await pebble.stop()
      pebble = launchPebble()
      await untilReady()
    },
    output,
    stop,
  }
}

function pebbleEnvironment({ authzReuse = 0, nonceReject = 0, env }: PebbleOptions): Record<string, string> {
  return { PEBBLE_VA_NOSLEEP: '1', PEBBLE_AUTHZREUSE: String(authzReuse), PEBBLE_WFE_NONCEREJECT: String(nonceReject), ...env }
}

function challtestsrvArguments(dns: number, management: number): string[] {
  const nothing = ['-http01', '', '-https01', '', '-tlsalpn01', '', '-defaultIPv6', '']
  return ['-dns01', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${management}`, ...nothing]
}

type ConfigParts = {
  address: string
  acme: number
  management: number
  httpPort: number
  keyFile: string
  caFile: string
  options: PebbleOptions
}

function writeConfig(folder: string, { address, acme, management, httpPort, keyFile, caFile, options }: ConfigParts): string {
  const pebble = {
    listenAddress: `${address}:${acme}`,
    managementListenAddress: `${address}:${management}`,
    certificate: caFile,
    privateKey: keyFile,
    httpPort,
    tlsPort: options.tlsPort ?? httpPort,
    externalAccountBindingRequired: options.eab !== undefined,
    externalAccountMACKeys: options.eab ?? {},
    domainBlocklist: options.blocklist ?? [],
    ...(options.validityS !== undefined && { certificateValidityPeriod: options.validityS }),
  }
  const path = join(folder, 'pebble.json')
  writeFileSync(path, JSON.stringify({ pebble }))
  return path
}

async function writeServerCertificate(folder: string, address: string): Promise<{ keyFile: string; caFile: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=localhost',
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - DAY_MS), // whoever's clock is slow trusts it too
    notAfter: new Date(Date.now() + 365 * DAY_MS),
    extensions: [
      new SubjectAlternativeNameExtension([
        { type: 'dns', value: 'localhost' },
        { type: 'dns', value: 'ca.localhost' },
        { type: 'ip', value: address },
      ]),
    ],
  })
  const [keyFile, caFile] = [join(folder, 'key.pem'), join(folder, 'ca.pem')]
  const key = KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' })
  writeFileSync(keyFile, key, { mode: 0o600 })
  writeFileSync(caFile, `${certificate.toString('pem')}\n`)
  return { keyFile, caFile }
}

type Program = { output(): string; hasEnded(): boolean; stop(): Promise<void> }

function launch(command: string[], env: Record<string, string>): Program {
  const [name, ...args] = command as [string, ...string[]]
  const child = spawn(name, args, { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let ended = false
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output = (output + chunk).slice(-OUTPUT_CHARACTERS_MAX)))
  const gone = new Promise<void>((resolve) => {
    const end = () => {
      ended = true
      process.off('exit', kill)
      resolve()
    }
    child.once('close', end)
    child.once('error', (error: NodeJS.ErrnoException) => {
      output += error.code === 'ENOENT' ? `${name} is not installed: apt-get install pebble` : String(error)
      end()
    })
  })
  return {
    output: () => output,
    hasEnded: () => ended,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(kill, STOP_TIMEOUT_MS)
      await gone
      clearTimeout(timer)
    },
  }
}
