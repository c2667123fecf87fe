/** `received`: the request is here, and nothing has come of it. `answered`: all has been done, and the answer has not been sent. */
export type HoldPoint = 'received' | 'answered'

export type Hold = {
  /** Resolves when a request stands still there. */
  reached: Promise<void>
  /** Lets it go on. */
  release(): void
  /** Ends it here: its connection is cut, and of a request that was just received nothing comes. */
  drop(): void
}

/** Requests that stand still until told, so that a test can do something at exactly that moment. Each hold takes the next request. */
export function createHolds<Step extends string>() {
  const waiting = new Map<string, { reach(): void; decided: Promise<'go' | 'drop'> }>()
  return {
    hold(step: Step, point: HoldPoint): Hold {
      const reached = Promise.withResolvers<void>()
      const decision = Promise.withResolvers<'go' | 'drop'>()
      waiting.set(`${step} ${point}`, { reach: reached.resolve, decided: decision.promise })
      return { reached: reached.promise, release: () => decision.resolve('go'), drop: () => decision.resolve('drop') }
    },
    /** Waits where the request is to be held. */
    async pass(step: Step, point: HoldPoint): Promise<'go' | 'drop'> {
      const held = waiting.get(`${step} ${point}`)
      waiting.delete(`${step} ${point}`)
      held?.reach()
      return held?.decided ?? 'go'
    },
  }
}
