/** What became of a request that was held: `turned-away` for want of room. */
export const HELD_OUTCOMES = ['served', 'failed', 'left', 'turned-away'] as const
export type HeldOutcome = (typeof HELD_OUTCOMES)[number]

const HELD_MAX = 1_000
const HELD_PER_PROJECT_MAX = 50

/** Counts the requests that are held, in all and of each project: nobody's upstream may fill the memory, or take the room of all others. */
export class HeldRequests {
  #all = 0
  readonly #byProject = new Map<string, number>()

  get count(): number {
    return this.#all
  }

  /** False when there is no room. */
  enter(project: string): boolean {
    const count = this.#byProject.get(project) ?? 0
    if (this.#all >= HELD_MAX || count >= HELD_PER_PROJECT_MAX) return false
    this.#all += 1
    this.#byProject.set(project, count + 1)
    return true
  }

  leave(project: string): void {
    const count = this.#byProject.get(project)! - 1
    this.#all -= 1
    if (count === 0) this.#byProject.delete(project)
    else this.#byProject.set(project, count)
  }
}
