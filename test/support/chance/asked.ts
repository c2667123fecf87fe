import type { Random } from '../../fuzz/random.ts'
import { PIECES, tellingBodies } from '../telling-bytes.ts'

const BODY_BYTES_MAX = 200_000
export const REQUESTS_MAX = 80
/** Uploads by their request's number, and answers behind them. */
const bodyOf = tellingBodies(2 * REQUESTS_MAX, BODY_BYTES_MAX)
const METHODS = ['GET', 'GET', 'GET', 'HEAD', 'DELETE', 'POST', 'POST', 'PUT'] as const

/** `whole`: its answer came, and all of it. `refused`: the edge said that there is none. `cut`: it ended as no visitor takes for an end. `left`: nobody waits for it. */
type Outcome = 'open' | 'whole' | 'refused' | 'cut' | 'left'

/** One request: what its visitor sends, what its application answers, and what has become of it. */
export class Asked {
  readonly number: number
  readonly hostname: string
  readonly method: string
  readonly upload: Buffer | undefined
  /** Its visitor says beforehand how long the upload is, or the application the answer. */
  readonly isUploadMeasured: boolean
  readonly #isAnswerMeasured: boolean
  /** Over HTTP/1.1: the answer ends with its connection. */
  readonly endsConnection: boolean
  readonly status: number
  readonly #answerBytes: number
  readonly hasTrailers: boolean
  readonly hasInterim: boolean
  /** It is answered while its upload is still on its way. */
  readonly isEarly: boolean
  /** Something was done to it after which it need not be answered. */
  mayFail = false
  outcome: Outcome = 'open'
  /** How often its head came to an application. */
  timesSeen = 0
  readonly uploads: Buffer[] = []

  constructor(number: number, hostname: string, random: Random) {
    this.number = number
    this.hostname = hostname
    this.method = random.pick(METHODS)
    this.upload = this.method === 'POST' || this.method === 'PUT' ? bodyOf(number, lengthOf(random)) : undefined
    this.isUploadMeasured = random.chance(0.5)
    this.status = random.chance(0.1) ? 204 : 200
    this.#answerBytes = lengthOf(random)
    this.hasTrailers = this.hasBody && random.chance(0.2)
    this.#isAnswerMeasured = !this.hasTrailers && random.chance(0.6)
    this.endsConnection = this.hasBody && !this.hasTrailers && random.chance(0.1)
    this.hasInterim = random.chance(0.1)
    this.isEarly = (this.upload?.length ?? 0) > 0 && random.chance(0.2)
  }

  get hasBody(): boolean {
    return this.status !== 204 && this.method !== 'HEAD'
  }

  /** What its visitor is to get. */
  get answer(): Buffer {
    return this.hasBody ? bodyOf(this.number + REQUESTS_MAX, this.#answerBytes) : Buffer.alloc(0)
  }

  /** Of the answer's head. */
  get lengthField(): number | undefined {
    return this.#isAnswerMeasured && this.status !== 204 ? this.#answerBytes : undefined
  }

  get path(): string {
    return `/${this.number}`
  }

  /** Whether it may be sent twice (RFC 9110 §9.2.2) and can be: nothing has to be kept for it. */
  get isReplayable(): boolean {
    const isEmpty = this.isUploadMeasured && this.upload?.length === 0
    return this.method !== 'POST' && (this.upload === undefined || isEmpty)
  }

  /** Whether it waits for an upstream that is away. */
  get isHoldable(): boolean {
    return this.method === 'GET' || this.method === 'HEAD'
  }

  /** Its answer has come as the visitor reads it. Returns what is wrong with it. */
  answered(status: number, number: string | undefined, body: Buffer, trailer: string | undefined): string | undefined {
    if (status === 502) {
      this.outcome = 'refused'
      return this.mayFail ? undefined : `${this.name} was refused: ${body}`
    }
    this.outcome = 'whole'
    if (status !== this.status || number !== String(this.number)) return `${this.name} got ${status} of ${number}`
    if (!body.equals(this.answer)) return `${this.name} got ${body.length} bytes, not the ${this.answer.length} of its answer`
    if ((trailer !== undefined) !== this.hasTrailers) return `${this.name} got the trailer ${trailer}`
    return undefined
  }

  /** It has ended without one. Returns what is wrong with that. */
  ended(): string | undefined {
    if (this.outcome !== 'open') return undefined
    this.outcome = 'cut'
    return this.mayFail ? undefined : `${this.name} was cut`
  }

  get name(): string {
    return `${this.method} ${this.path} of ${this.hostname}`
  }
}

function lengthOf(random: Random): number {
  return Math.min(BODY_BYTES_MAX, random.pick([0, 0, ...PIECES]) + random.pick([0, ...PIECES]))
}
