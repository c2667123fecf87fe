import { execFile, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findBun } from '../../src/edge-runtime.ts'
import { LOAD_CORE, onCore } from '../support/cores.ts'
import type { Peer } from '../support/peers.ts'
import { type LoadResult, parseH2load, parseWrk } from './load-output.ts'

/** Loads the proxy for so many milliseconds at least, from the core of loads. Rejects when `signal` ends it. */
export type Load = (proxy: Peer, ms: number, signal: AbortSignal) => Promise<LoadResult>

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))
const WRK_SCRIPT = fileURLToPath(new URL('../support/random-hostnames.lua', import.meta.url))
const WRK_TLS = fileURLToPath(new URL('../support/openssl-as-browsers.cnf', import.meta.url))
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

/** h2load with these options, asking for `path` of `hostname`; `--h1` is among the options for HTTP/1.1. */
export function h2load(hostname: string, path: string, ...options: string[]): Load {
  return async ({ port }, ms, signal) => {
    const target = ['--connect-to', `127.0.0.1:${port}`, '-D', `${Math.round(ms)}ms`, `https://${hostname}:${port}${path}`]
    return parseH2load(await output(['h2load', ...options, ...target], signal))
  }
}

/** wrk on 64 connections for `hostname`, each request for a hostname of its own out of `count` below `zone`. */
export function randomHostnames(hostname: string, zone: string, count: number): Load {
  return ({ port }, ms, signal) => {
    // It takes whole seconds only, and tells what it counted when it is interrupted.
    const options = ['-t1', '-c64', `-d${Math.ceil(ms / 1_000) + 60}s`, '-s', WRK_SCRIPT, `https://${hostname}:${port}/`]
    const [command, args] = onCore(LOAD_CORE, ['wrk', ...options, '--', zone, String(count)])
    const env = { ...process.env, OPENSSL_CONF: WRK_TLS }
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'], signal })
    let printed = ''
    child.stdout.on('data', (bytes: Buffer) => {
      printed += bytes.toString()
    })
    const timer = setTimeout(() => child.kill('SIGINT'), ms)
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', () => {
        clearTimeout(timer)
        resolve(parseWrk(printed))
      })
    })
  }
}

const RUN_BY = {
  node: () => [process.execPath, '--disable-warning=ExperimentalWarning'],
  bun: () => [findBun({ folder: PROJECT, path: process.env.PATH ?? '' }), '--no-install'],
}

/** One of our own clients in bench/support, which prints a LoadResult as JSON. It is given the port, the milliseconds, and these arguments. */
export function client(script: string, argumentsFor: (proxy: Peer) => string[], runtime: keyof typeof RUN_BY = 'node'): Load {
  const run = [...RUN_BY[runtime](), fileURLToPath(new URL(`../support/${script}`, import.meta.url))]
  return async (proxy, ms, signal) => {
    const command = [...run, String(proxy.port), String(Math.round(ms)), ...argumentsFor(proxy)]
    return JSON.parse(await output(command, signal)) as LoadResult
  }
}

async function output(command: string[], signal: AbortSignal): Promise<string> {
  const { stdout } = await promisify(execFile)(...onCore(LOAD_CORE, command), { signal, maxBuffer: OUTPUT_BYTES_MAX })
  return stdout
}
