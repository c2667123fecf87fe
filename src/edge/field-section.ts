import type { Fields } from './engine.ts'

/**
 * The fields of a message (RFC 9110 §6.3) as lines on the wire, `Name: value` and CRLF each, and as a list; whichever was not given is made
 * when it is first asked for. HTTP/1.1 copies lines through, HTTP/2 needs the list.
 */
export class FieldSection {
  static readonly EMPTY = FieldSection.ofLines('')
  #lines: string | undefined
  #list: Fields | undefined

  private constructor(lines: string | undefined, list: Fields | undefined) {
    this.#lines = lines
    this.#list = list
  }

  static ofLines(lines: string): FieldSection {
    return new FieldSection(lines, undefined)
  }

  static ofList(list: Fields): FieldSection {
    return new FieldSection(undefined, list)
  }

  get lines(): string {
    this.#lines ??= fieldLines(this.#list!)
    return this.#lines
  }

  get list(): Fields {
    this.#list ??= listOf(this.#lines!)
    return this.#list
  }
}

export function fieldLines(list: Fields): string {
  let lines = ''
  for (let i = 0; i < list.length; i += 2) lines += `${list[i]!}: ${list[i + 1]!}\r\n`
  return lines
}

function listOf(lines: string): Fields {
  const list: string[] = []
  for (let at = 0; at < lines.length; ) {
    const colon = lines.indexOf(':', at)
    const end = lines.indexOf('\r\n', colon)
    list.push(lines.slice(at, colon), lines.slice(colon + 2, end))
    at = end + 2
  }
  return list
}
