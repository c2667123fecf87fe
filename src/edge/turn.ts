export type TurnMember = { endTurn(): void }

export type Turn = ReturnType<typeof createTurn>

/** So many write together: the first one wakes who waits for it, and that one works while the rest of the turn is read (docs/decisions/0103). */
const WRITERS_TOGETHER = 16

/**
 * The turns of the loop. One begins with the first thing that is asked of it and ends when all that has arrived is read. Whoever asked is called
 * then: what is written until the end leaves in one piece.
 */
export function createTurn() {
  let members: TurnMember[] = []
  let writers: TurnMember[] = []
  let isUnderWay = false
  let beganMs = 0
  let askedAtMs: number | undefined

  const begin = () => {
    isUnderWay = true
    beganMs = performance.now()
    askedAtMs = undefined
    setImmediate(end)
  }

  /** What ends may ask others to send something, who belong to the same turn. */
  const end = () => {
    try {
      while (members.length > 0 || writers.length > 0) {
        letWrite()
        const asked = members
        members = []
        for (const member of asked) member.endTurn()
      }
    } finally {
      isUnderWay = false
    }
  }

  const letWrite = () => {
    const asked = writers
    writers = []
    for (const writer of asked) writer.endTurn()
  }

  return {
    /** To be asked once a turn. */
    add(member: TurnMember) {
      if (!isUnderWay) begin()
      members.push(member)
    },
    /** As `add`, for who does nothing at the end but write, and may as well do so before it. */
    addWriter(writer: TurnMember) {
      if (!isUnderWay) begin()
      if (writers.length === WRITERS_TOGETHER) letWrite()
      writers.push(writer)
    },
    /** Ends this turn with what runs now, before the loop hears of anything new. */
    endSoon(): void {
      process.nextTick(end)
    },
    /** By performance.now(), as of this turn's beginning: one look at the clock serves all that happens in it. */
    nowMs(): number {
      if (!isUnderWay) begin()
      return beganMs
    },
    /** By Date.now(), as of when this turn was first asked. */
    timeMs(): number {
      if (!isUnderWay) begin()
      askedAtMs ??= Date.now()
      return askedAtMs
    },
  }
}
