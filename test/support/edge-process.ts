import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { EdgeParts } from '../../src/edge/edge.ts'
import type { EdgeCounts } from '../../src/edge/metrics.ts'
import { findEdgeRuntime } from '../../src/edge-runtime.ts'

/** What an edge is told, but for what its own process makes of it. */
export type RemoteParts = Omit<EdgeParts, 'log' | 'metrics' | 'accessLog'> & { writeLine(line: string): void }

/** The edge as a test holds it, wherever it runs. */
export type HeldEdge = {
  ports: { http: number[]; https: number[] }
  report(): Promise<EdgeCounts>
  setTicketKeys(keys: Buffer): Promise<void>
  stop(drainMs: number): Promise<void>
  metrics(): Promise<string>
}

/** Text for what both sides write: functions and buffers go as what they are called and hold. */
export type Marshalled = { $call: string } | { $base64: string }

/** What the test asks of the edge's process. */
export type Order = { id: number; verb: 'start' | 'report' | 'metrics' | 'setTicketKeys' | 'stop'; argument?: unknown }
export type Settled = { settled: number; value?: unknown; error?: string }
export type Reply = { id: number; value?: unknown; error?: { message: string; code?: string } }
/** How a call was answered: at once, or by a promise that settles later under a number. */
export type Answer = { value?: unknown } | { later: number } | { error: string }

const FIXTURE = fileURLToPath(new URL('edge.fixture.ts', import.meta.url))

/**
 * Starts the edge in a process of Bun's. What it asks of its parts is answered here, in the test, and it waits as it would for a function of its
 * own: each call goes over a socket that it reads without giving its event loop a turn. So a test sees no difference but the runtime.
 */
export async function startEdgeOnBun(parts: RemoteParts): Promise<HeldEdge> {
  const { program, flags } = findEdgeRuntime({ edgeRuntime: 'bun' })
  const child = spawn(program, [...flags, FIXTURE], { stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'] })
  const calls = new Map<string, (...args: unknown[]) => unknown>()
  answerCalls(child, calls)
  const order = createOrders(child)
  let last: EdgeCounts | undefined
  try {
    const ports = (await order('start', marshal(parts, '', calls))) as HeldEdge['ports']
    return {
      ports,
      report: async () => last ?? ((await order('report')) as EdgeCounts),
      metrics: async () => (await order('metrics')) as string,
      setTicketKeys: async (keys) => void (await order('setTicketKeys', marshal(keys, '', calls))),
      async stop(drainMs) {
        if (last) return
        last = (await order('stop', drainMs)) as EdgeCounts
        child.kill('SIGKILL')
      },
    }
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

function createOrders(child: ChildProcess) {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let count = 0
  child.on('message', ({ id, value, error }: Reply) => {
    const asked = waiting.get(id)
    waiting.delete(id)
    if (error) asked?.reject(Object.assign(new Error(error.message), { code: error.code }))
    else asked?.resolve(value)
  })
  child.once('exit', (code, signal) => {
    for (const asked of waiting.values()) asked.reject(new Error(`the edge's process ended: ${signal ?? `exit code ${code}`}`))
  })
  return (verb: Order['verb'], argument?: unknown): Promise<unknown> => {
    const asked = Promise.withResolvers<unknown>()
    count += 1
    waiting.set(count, asked)
    child.send({ id: count, verb, argument } satisfies Order)
    return asked.promise
  }
}

function answerCalls(child: ChildProcess, calls: ReadonlyMap<string, (...args: unknown[]) => unknown>): void {
  const channel = child.stdio[4] as Duplex
  let promises = 0
  const settle = (message: Settled) => {
    if (child.connected) child.send(message, () => {})
  }
  const answer = (name: string, args: unknown[]): Answer => {
    try {
      const value = calls.get(name)!(...args)
      if (!(value instanceof Promise)) return { value }
      promises += 1
      const settled = promises
      value.then(
        (outcome) => settle({ settled, value: outcome }),
        (error: Error) => settle({ settled, error: error.message }),
      )
      return { later: settled }
    } catch (error) {
      return { error: (error as Error).message }
    }
  }
  channel.on('error', () => {}) // the process was ended
  createInterface(channel).on('line', (line) => {
    const { name, args } = JSON.parse(line) as { name: string; args: unknown[] }
    channel.write(`${JSON.stringify(answer(name, args))}\n`)
  })
}

function marshal(value: unknown, path: string, calls: Map<string, (...args: unknown[]) => unknown>): unknown {
  if (typeof value === 'function') {
    calls.set(path, value as (...args: unknown[]) => unknown)
    return { $call: path } satisfies Marshalled
  }
  if (Buffer.isBuffer(value)) return { $base64: value.toString('base64') } satisfies Marshalled
  if (Array.isArray(value)) return value.map((entry, i) => marshal(entry, `${path}.${i}`, calls))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, marshal(entry, `${path}.${key}`, calls)]))
}
