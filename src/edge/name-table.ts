const LOWER = 0x20

type Entry<Kind> = { name: Uint8Array; kind: Kind }

/** Tells field names apart, whatever their case, by their bytes alone: most names are none of the few that matter, and should cost one look. */
export class NameTable<Kind> {
  readonly #byLength: Entry<Kind>[][] = []
  readonly #byName: Map<string, Kind>
  readonly #otherwise: Kind

  /** The names in lower case. */
  constructor(names: Iterable<readonly [name: string, kind: Kind]>, otherwise: Kind) {
    this.#byName = new Map(names)
    this.#otherwise = otherwise
    for (const [name, kind] of this.#byName) {
      for (let length = this.#byLength.length; length <= name.length; length += 1) this.#byLength.push([])
      this.#byLength[name.length]!.push({ name: Buffer.from(name, 'latin1'), kind })
    }
  }

  /** Of the name from `at` to `end`, which holds token characters alone (RFC 9110 §5.6.2). */
  kindIn(bytes: Buffer, at: number, end: number): Kind {
    const length = end - at
    if (length >= this.#byLength.length) return this.#otherwise
    const entries = this.#byLength[length]!
    for (let i = 0; i < entries.length; i += 1) {
      const { name, kind } = entries[i]!
      let same = 0
      while (same < length && (bytes[at + same]! | LOWER) === name[same]) same += 1
      if (same === length) return kind
    }
    return this.#otherwise
  }

  kindOf(lower: string): Kind {
    return this.#byName.get(lower) ?? this.#otherwise
  }
}
