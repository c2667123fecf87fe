import type { Fields } from './engine.ts'

/** Takes lines: text of one character a byte, or what lies in `bytes` from `from` to `end`, which it copies at once. */
type SectionSink = { send(text: string): void; sendBytes(bytes: Buffer, from: number, end: number): void }

const NO_RUNS: readonly number[] = []

/**
 * The fields of a message (RFC 9110 §6.3) as lines on the wire, `Name: value` and CRLF each, and as a list; whichever was not given is made
 * when it is first asked for. HTTP/1.1 copies lines through, HTTP/2 needs the list.
 */
export class FieldSection {
  static readonly EMPTY = FieldSection.ofLines('')
  /** What HTTP/2 makes of them, where somebody has made it. */
  block: Uint8Array | undefined
  #lines: string | undefined
  #list: Fields | undefined
  #bytes: Buffer | undefined
  #runs: readonly number[]

  private constructor(lines: string | undefined, list: Fields | undefined, bytes: Buffer | undefined, runs: readonly number[]) {
    this.#lines = lines
    this.#list = list
    this.#bytes = bytes
    this.#runs = runs
  }

  static ofLines(lines: string): FieldSection {
    return new FieldSection(lines, undefined, undefined, NO_RUNS)
  }

  static ofList(list: Fields): FieldSection {
    return new FieldSection(undefined, list, undefined, NO_RUNS)
  }

  /** Of lines where they were read, in runs that begin and end at the given places in turn: to be used up before the call that read them returns. */
  static ofRuns(bytes: Buffer, runs: readonly number[]): FieldSection {
    return new FieldSection(undefined, undefined, bytes, runs)
  }

  get lines(): string {
    this.#lines ??= this.#bytes ? runsAsText(this.#bytes, this.#runs) : fieldLines(this.#list!)
    return this.#lines
  }

  get list(): Fields {
    this.#list ??= listOf(this.lines)
    return this.#list
  }

  /** What the lines lie in: `runs` says where. */
  get bytes(): Buffer {
    if (!this.#bytes) {
      this.#bytes = Buffer.from(this.lines, 'latin1')
      this.#runs = [0, this.#bytes.length]
    }
    return this.#bytes
  }

  /** Where each run of lines begins and ends in `bytes`, in turn. */
  get runs(): readonly number[] {
    return this.bytes && this.#runs
  }

  /** What others have read into the bytes by now is not taken for the lines: whoever asks for them from now on, and has not before, fails. */
  leaveBytes(): void {
    this.#bytes = undefined
  }

  /** Sends the lines, without making text of them where they are bytes. */
  sendTo(sink: SectionSink): void {
    const bytes = this.#bytes
    if (!bytes) {
      sink.send(this.lines)
      return
    }
    const runs = this.#runs
    for (let i = 0; i < runs.length; i += 2) sink.sendBytes(bytes, runs[i]!, runs[i + 1]!)
  }
}

/** One call for all that lies between the first run and the last, from which they are cut, costs less than one for each. */
function runsAsText(bytes: Buffer, runs: readonly number[]): string {
  if (runs.length === 0) return ''
  const from = runs[0]!
  const text = bytes.toString('latin1', from, runs[runs.length - 1]!)
  let lines = ''
  for (let i = 0; i < runs.length; i += 2) lines += text.slice(runs[i]! - from, runs[i + 1]! - from)
  return lines
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
