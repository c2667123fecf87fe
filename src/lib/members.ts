/** A member's place, by which it is taken out again. */
export type Place<T> = { readonly member: T; at: number }

/**
 * A set for what comes and goes all the time, as connections do. A Set that is filled and emptied all the time is renewed every few members, and each
 * of its former tables keeps hold of the next: one that has outlived two collections then holds all members that came after it, and what they refer
 * to, until V8 collects its old generation.
 */
export class Members<T> {
  readonly #places: Place<T>[] = []

  get size(): number {
    return this.#places.length
  }

  add(member: T): Place<T> {
    const place = { member, at: this.#places.length }
    this.#places.push(place)
    return place
  }

  /** To be asked once for each place. */
  delete({ at }: Place<T>): void {
    const last = this.#places.pop()!
    if (last.at === at) return
    // The last one takes its place.
    last.at = at
    this.#places[at] = last
  }

  /** Those of now. */
  all(): T[] {
    return this.#places.map(({ member }) => member)
  }
}
