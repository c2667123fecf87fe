import type { Cursor } from './rows.ts'

/** A place in the feed, and the moment that it stands for. */
export type Reached = { cursor: Cursor; asOfMs: number }

/** What an edge process says of its work: visitors' connections, and the processor cores that it keeps busy. */
export type Vitals = { connections: number; load: number }

export type Acknowledgements<Client> = {
  /** Opens the next mark: a client that confirms it has dropped what was changed up to this place. */
  mark(reached: Reached): number
  /** The mark that was opened last; 0 before the first. */
  latest(): number
  joined(client: Client): void
  /** It is gone, and has forgotten everything or will before it remembers anything again. */
  left(client: Client): void
  confirmed(client: Client, mark: number, vitals: Vitals | undefined): void
  /** The last place that every client has confirmed, whoever joined since having confirmed nothing; undefined before the first. */
  reached(): Reached | undefined
  /** The work of all edge processes; undefined while none is there. */
  vitals(): Vitals | undefined
}

const MARKS_MAX = 1_000

/** Who of the machine's processes has come how far. One that says nothing holds the place back for as long as it is connected. */
export function createAcknowledgements<Client>(): Acknowledgements<Client> {
  const clients = new Map<Client, { mark: number; vitals: Vitals | undefined }>()
  let open: { mark: number; reached: Reached }[] = [] // opened, and not yet confirmed by all
  let last = 0
  let reached: Reached | undefined

  const settle = (): void => {
    const common = Math.min(last, ...[...clients.values()].map(({ mark }) => mark))
    reached = open.findLast(({ mark }) => mark <= common)?.reached ?? reached
    open = open.filter(({ mark }) => mark > common)
  }

  return {
    mark(place) {
      last += 1
      open.push({ mark: last, reached: place })
      if (open.length > MARKS_MAX) open.shift() // whoever confirms it then counts as no further than those before
      settle()
      return last
    },
    latest: () => last,
    joined: (client) => void clients.set(client, { mark: -1, vitals: undefined }),
    left(client) {
      clients.delete(client)
      settle()
    },
    confirmed(client, mark, vitals) {
      const known = clients.get(client)
      if (!known) return
      known.mark = Math.max(known.mark, Math.min(mark, last))
      known.vitals = vitals
      settle()
    },
    reached: () => reached,
    vitals() {
      const all = [...clients.values()].flatMap(({ vitals }) => vitals ?? [])
      if (all.length === 0) return undefined
      return all.reduce((sum, { connections, load }) => ({ connections: sum.connections + connections, load: sum.load + load }))
    },
  }
}
