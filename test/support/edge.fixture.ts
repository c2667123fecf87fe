import { readSync, writeSync } from 'node:fs'
import { Registry } from 'prom-client'
import { type Edge, startEdge } from '../../src/edge/edge.ts'
import { createEdgeMetrics } from '../../src/edge/metrics.ts'
import { logsInto } from './edge-logs.ts'
import type { Answer, Order, RemoteParts, Reply, Settled } from './edge-process.ts'

// An edge in a process of its own: see edge-process.ts.
const CALLS_FD = 4
const READ_BYTES = 65_536

const registry = new Registry()
const later = new Map<number, PromiseWithResolvers<unknown>>()
const bytes = Buffer.alloc(READ_BYTES)
let edge: Edge | undefined

/** Calls a function of the test's and waits for its answer, as a call in one process would. */
function call(name: string, args: unknown[]): unknown {
  writeAll(`${JSON.stringify({ name, args })}\n`)
  const answer = JSON.parse(readLine()) as Answer
  if ('error' in answer) throw new Error(answer.error)
  if (!('later' in answer)) return answer.value
  const promise = Promise.withResolvers<unknown>()
  later.set(answer.later, promise)
  return promise.promise
}

function writeAll(text: string): void {
  let rest = Buffer.from(text)
  while (rest.length > 0) rest = rest.subarray(writeSync(CALLS_FD, rest))
}

function readLine(): string {
  const parts: Buffer[] = []
  for (;;) {
    const read = readSync(CALLS_FD, bytes)
    if (read === 0) process.exit(0) // the test has ended
    parts.push(Buffer.from(bytes.subarray(0, read)))
    if (bytes[read - 1] === 10) return Buffer.concat(parts).toString()
  }
}

function unmarshal(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unmarshal)
  if (typeof value !== 'object' || value === null) return value
  if ('$call' in value) return (...args: unknown[]) => call(value.$call as string, args)
  if ('$base64' in value) return Buffer.from(value.$base64 as string, 'base64')
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, unmarshal(entry)]))
}

async function obey({ verb, argument }: Order): Promise<unknown> {
  switch (verb) {
    case 'start': {
      const parts = unmarshal(argument) as RemoteParts
      edge = await startEdge({ ...parts, ...logsInto(parts.writeLine), metrics: createEdgeMetrics(registry) })
      return edge.ports
    }
    case 'report':
      return edge!.report()
    case 'metrics':
      return registry.metrics()
    case 'setTicketKeys':
      return edge!.setTicketKeys(unmarshal(argument) as Buffer)
    case 'stop':
      await edge!.stop(argument as number)
      return edge!.report()
  }
}

process.on('disconnect', () => process.exit(0))
process.on('message', (message: Order | Settled) => {
  if ('settled' in message) {
    const promise = later.get(message.settled)
    later.delete(message.settled)
    if (message.error === undefined) promise?.resolve(message.value)
    else promise?.reject(new Error(message.error))
    return
  }
  const reply = (outcome: Omit<Reply, 'id'>) => process.send?.({ id: message.id, ...outcome })
  obey(message).then(
    (value) => reply({ value }),
    (error: NodeJS.ErrnoException) => reply({ error: { message: error.message, code: error.code } }),
  )
})
