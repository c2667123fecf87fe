/** Requests that run in lanes, each lane one after the other, until stopped. */
export type Load = {
  /** Whole answers so far, all lanes together. */
  answered(): number
  /** One sentence for every request that did not get the answer it should. */
  lost: string[]
  stop(): Promise<void>
}

const LOST_MAX = 20
const PAUSE_AFTER_LOSS_MS = 20

/** Runs every lane at once: a lane makes one request (or a few), and rejects when an answer is missing or wrong. Lanes are named by the caller. */
export function startLoad(lanes: Record<string, () => Promise<unknown>>): Load {
  let answered = 0
  let stopped = false
  const lost: string[] = []
  const run = async (name: string, ask: () => Promise<unknown>) => {
    while (!stopped) {
      try {
        await ask()
        answered += 1
      } catch (error) {
        if (lost.length < LOST_MAX) lost.push(`${name}: ${(error as NodeJS.ErrnoException).code ?? ''} ${(error as Error).message}`)
        await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_LOSS_MS))
      }
    }
  }
  const all = Promise.all(Object.entries(lanes).map(([name, ask]) => run(name, ask)))
  return {
    answered: () => answered,
    lost,
    async stop() {
      stopped = true
      await all
    },
  }
}
