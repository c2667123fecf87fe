import type pg from 'pg'
import type { Random } from '../../fuzz/random.ts'

type Query = (...args: unknown[]) => unknown
type Wire = pg.PoolClient & { connection: { stream: { destroy(): void } } }

/** What a pool's connections suffer. */
export type FailingPool = {
  /** One of the next statements is lost with its connection: before the server has it, or with its answer. */
  fail(): void
  /** Nobody gets through, and what is under way is cut, until `mend`. */
  cut(): void
  mend(): void
  /** Statements that are not answered yet. */
  underWay(): number
}

const NEXT_OF_SO_MANY = 6

/** Makes the connections of a pool fail as those of a machine do: whole statements alone, so what the server has it does, whoever hears of it. */
export function makeFailing(pool: pg.Pool, random: Random): FailingPool {
  const clients = new Set<Wire>()
  let isCut = false
  let failsIn = 0
  let underWay = 0
  pool.on('connect', (client) => {
    const wire = client as Wire
    clients.add(wire)
    wire.on('end', () => clients.delete(wire))
    const query = wire.query.bind(wire) as Query
    const failing: Query = (...args) => {
      if (isCut) wire.connection.stream.destroy()
      const isLast = failsIn > 0 && --failsIn === 0
      const isHeard = random.chance(0.5)
      if (isLast && !isHeard) wire.connection.stream.destroy()
      underWay += 1
      const answer = query(...args)
      void Promise.resolve(answer)
        .catch(() => {})
        .finally(() => (underWay -= 1))
      if (isLast && isHeard) setImmediate(() => wire.connection.stream.destroy())
      return answer
    }
    wire.query = failing as typeof wire.query
  })
  return {
    fail: () => (failsIn = 1 + random.below(NEXT_OF_SO_MANY)),
    cut() {
      isCut = true
      for (const { connection } of clients) connection.stream.destroy()
    },
    mend: () => (isCut = false),
    underWay: () => underWay,
  }
}
