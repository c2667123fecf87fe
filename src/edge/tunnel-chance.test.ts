import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { afterAll, expect, test } from 'vitest'
import { Random } from '../../test/fuzz/random.ts'
import { arrive } from '../../test/support/chance/arrive.ts'
import { createLine, settled } from '../../test/support/line.ts'
import { seedsToTry, upTo } from '../../test/support/seeds.ts'
import { PIECES, tellingBytes } from '../../test/support/telling-bytes.ts'
import { TIMEOUTS } from './timeouts.ts'
import { createTunnels } from './tunnel.ts'

const STEPS = 150
const BYTES_MAX = 2_000_000
/** For an end that takes nothing: what was read before its other end is read no more. */
const WAITING_BYTES_MAX = 128 * 1024
const LAST_ROUNDS_MAX = 200
const BYTES = tellingBytes(BYTES_MAX)

const tunnels = createTunnels(TIMEOUTS.bodyIdleMs)
afterAll(() => tunnels.destroy())

/** One end in memory: what it says are the telling bytes from `from` on. */
function createEnd(from: number) {
  const taken: Buffer[] = []
  const line = createLine({ onTaken: (chunk) => void taken.push(chunk), endsToo: true })
  let said = 0
  return {
    line,
    say(bytes: number): void {
      const piece = BYTES.subarray(from + said, from + said + bytes)
      said += piece.length
      arrive(line.socket, piece)
    },
    said: () => BYTES.subarray(from, from + said),
    taken: () => Buffer.concat(taken),
  }
}

test.each(seedsToTry(upTo(40)))(
  'what both ends of a tunnel say arrives whole, is not piled up, and behind it comes the end (seed %i)',
  async (seed) => {
    const random = new Random(seed)
    const [visitor, upstream] = [createEnd(0), createEnd(1_000)]
    const behind = { request: Buffer.from('asked'), answer: Buffer.from('answered') }
    let closedAfter: number | undefined
    tunnels.open({
      visitor: visitor.line.socket as unknown as TLSSocket,
      upstream: upstream.line.socket as unknown as Socket,
      behindRequest: behind.request,
      behindAnswer: behind.answer,
      onClose: (bytes) => (closedAfter = bytes),
    })
    const one = () => random.pick([visitor, upstream])
    const say = () => one().say(random.pick(PIECES))
    const moves = [say, say, say, () => one().line.hold(), () => one().line.release(), () => one().line.release()]
    for (let step = 0; step < STEPS; step += 1) {
      random.pick(moves)()
      for (const { line } of [visitor, upstream]) expect(line.socket.writableLength).toBeLessThan(WAITING_BYTES_MAX)
      if (random.chance(0.4)) await new Promise((resolve) => setImmediate(resolve))
    }
    const [first, second] = random.pick([[visitor, upstream] as const, [upstream, visitor] as const])
    first.line.socket.push(null)
    for (let round = 0; round < LAST_ROUNDS_MAX && !(visitor.line.socket.destroyed && upstream.line.socket.destroyed); round += 1) {
      visitor.line.release()
      upstream.line.release()
      await settled()
    }
    const toUpstream = Buffer.concat([behind.request, visitor.said()])
    const toVisitor = Buffer.concat([behind.answer, upstream.said()])
    const [toFirst, toSecond] = first === visitor ? [toVisitor, toUpstream] : [toUpstream, toVisitor]
    expect([second.taken().length, second.taken().equals(toSecond)]).toEqual([toSecond.length, true])
    expect(first.taken().equals(toFirst.subarray(0, first.taken().length))).toBe(true) // who has ended may not hear all of the other one
    expect(closedAfter).toBeGreaterThanOrEqual(visitor.taken().length)
    expect([visitor.line.socket.destroyed, upstream.line.socket.destroyed]).toEqual([true, true])
  },
)
