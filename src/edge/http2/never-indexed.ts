/** Of fields that hold secrets, whoever says them. */
export const SECRET_NAMES: ReadonlySet<string> = new Set(['authorization', 'cookie', 'set-cookie'])
const NAMES_MAX = 1_000
const NAME_CHARACTERS_MAX = 64

/**
 * The names of fields that are said so that no intermediary puts them into a table (RFC 7541 §7.1.3). Whoever passes on a field that came as a literal
 * "never indexed" must say it the same way (§6.2.3); what holds for a message is remembered of the name, for all messages, which is more than is asked.
 */
export class NeverIndexedNames {
  readonly #names = new Set(SECRET_NAMES)
  #areAll = false
  #changes = 0

  /** Another number once a name has come in. */
  get changes(): number {
    return this.#changes
  }

  /** In lower case. */
  has(name: string): boolean {
    return this.#areAll || this.#names.has(name)
  }

  /** Where there is no room for another name, all count as such. */
  add(name: string): void {
    if (this.has(name)) return
    this.#changes += 1
    if (this.#names.size >= NAMES_MAX || name.length > NAME_CHARACTERS_MAX) this.#areAll = true
    else this.#names.add(name)
  }
}

/** Of the process: what one connection's peer says goes on over others. */
export const neverIndexed = new NeverIndexedNames()
