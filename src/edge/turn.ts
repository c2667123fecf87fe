export type TurnMember = { endTurn(): void }

export type Turn = ReturnType<typeof createTurn>

/** Calls whoever asked for it at the end of this turn of the loop, when all that has arrived is read: what they write then leaves in one piece. */
export function createTurn() {
  let members: TurnMember[] = []
  const end = () => {
    const asked = members
    members = []
    for (const member of asked) member.endTurn()
  }
  return {
    /** To be asked once a turn. */
    add(member: TurnMember) {
      if (members.length === 0) setImmediate(end)
      members.push(member)
    },
  }
}
