export type Bounds = { max: number; perOwnerMax: number }

/** For who decides by the counts alone who may have more. */
const UNBOUNDED: Bounds = { max: Number.POSITIVE_INFINITY, perOwnerMax: Number.POSITIVE_INFINITY }

/** Counts what goes on at the same time, or how much of it, in all and of each owner: nobody may take the room of all others. */
export class Shares {
  readonly #bounds: Bounds
  readonly #byOwner = new Map<string, number>()
  #all = 0

  constructor(bounds = UNBOUNDED) {
    this.#bounds = bounds
  }

  get count(): number {
    return this.#all
  }

  countOf(owner: string): number {
    return this.#byOwner.get(owner) ?? 0
  }

  /** Who has at least so many. */
  ownersWith(least: number): string[] {
    return [...this.#byOwner].filter(([, count]) => count >= least).map(([owner]) => owner)
  }

  /** False when there is no room. */
  enter(owner: string, places = 1): boolean {
    const count = this.countOf(owner) + places
    if (this.#all + places > this.#bounds.max || count > this.#bounds.perOwnerMax) return false
    this.#all += places
    this.#byOwner.set(owner, count)
    return true
  }

  leave(owner: string, places = 1): void {
    const count = this.#byOwner.get(owner)! - places
    this.#all -= places
    if (count === 0) this.#byOwner.delete(owner)
    else this.#byOwner.set(owner, count)
  }
}

/** Takes a place in each of several, and returns how to give them back; takes none, and is undefined, where one of them has no room. */
export function enterAll(wanted: readonly (readonly [Shares, owner: string])[]): (() => void) | undefined {
  const taken = wanted.filter(([shares, owner]) => shares.enter(owner))
  const leave = () => {
    for (const [shares, owner] of taken) shares.leave(owner)
  }
  if (taken.length === wanted.length) return leave
  leave()
  return undefined
}
