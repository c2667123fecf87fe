import type { Random } from '../../fuzz/random.ts'
import type { Line } from '../line.ts'
import { arrive } from './arrive.ts'

const ENDS = ['visitor', 'application'] as const
/** When one end has had enough: `other` when the other end has. */
type Ending = 'once-said' | 'once-heard' | 'other'
const ENDINGS: readonly (readonly [Ending, Ending])[] = [
  ['once-said', 'other'],
  ['other', 'once-said'],
  ['once-said', 'once-said'],
  ['once-heard', 'other'],
  ['other', 'once-heard'],
]

/** Both ends of a connection whose protocol is changed. */
export class Tunnel {
  readonly visitor: TunnelEnd
  readonly application: TunnelEnd

  constructor(random: Random, wordsOf: (end: (typeof ENDS)[number]) => Buffer) {
    const endings = random.pick(ENDINGS)
    const [visitor, application] = ENDS.map((end, i) => new TunnelEnd(wordsOf(end), endings[i]!))
    this.visitor = visitor!
    this.application = application!
    this.visitor.other = this.application
    this.application.other = this.visitor
  }

  /** Each end that has come about is over. */
  get isOver(): boolean {
    return !this.visitor.isOpen && !this.application.isOpen
  }
}

/** One of them: it says its words in pieces, hears the other one's, and ends. */
export class TunnelEnd {
  other!: TunnelEnd
  readonly #words: Buffer
  readonly #ending: Ending
  #line: Line | undefined
  #said = 0
  #heard = 0
  #hasEnded = false

  constructor(words: Buffer, ending: Ending) {
    this.#words = words
    this.#ending = ending
  }

  get isOpen(): boolean {
    return this.#line !== undefined && !this.#line.socket.destroyed
  }

  /** From now on the line is a tunnel here. `onOver` is told when it is none any more, and what is wrong with how it ended. */
  open(line: Line, onOver: (wrong: string | undefined) => void): void {
    this.#line = line
    line.socket.once('close', () =>
      onOver(this.#isLeftAlone() ? `an end that had not ended heard ${this.#heard} of ${this.other.#said} bytes` : undefined),
    )
  }

  /** The next of its words. */
  words(bytes: number): Buffer {
    const piece = this.#words.subarray(this.#said, this.#said + bytes)
    this.#said += piece.length
    return piece
  }

  /** Says so many more bytes, or that there are no more. False: it has nothing to say at the moment. */
  sayOn(bytes: number): boolean {
    const socket = this.#line?.socket
    if (!socket || this.#hasEnded || socket.destroyed || socket.writableFinished) return false
    const piece = this.words(bytes)
    if (piece.length > 0) arrive(socket, piece)
    else if (!this.#hasHadEnough) return false
    else this.end()
    return true
  }

  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#line?.socket.push(null)
  }

  /** Returns what is wrong with what it has heard. */
  hear(chunk: Buffer): string | undefined {
    const from = this.#heard
    this.#heard += chunk.length
    const isRight = this.#heard <= this.other.#said && chunk.equals(this.other.#words.subarray(from, this.#heard))
    return isRight ? undefined : `an end of a tunnel heard ${chunk.length} bytes at ${from} that nobody said`
  }

  get #hasHadEnough(): boolean {
    return this.#ending === 'once-said' || (this.#ending === 'once-heard' && this.#heard === this.other.#words.length)
  }

  /** Who has not ended hears all that the other one says, and then its end. */
  #isLeftAlone(): boolean {
    if (this.#hasEnded) return false
    return !this.other.#hasEnded || this.#heard !== this.other.#said || !this.#line!.socket.writableFinished
  }
}
