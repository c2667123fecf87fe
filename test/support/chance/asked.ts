import type { Random } from '../../fuzz/random.ts'
import { PIECES, tellingBodies } from '../telling-bytes.ts'
import { Tunnel } from './tunnel-end.ts'

const BODY_BYTES_MAX = 200_000
export const REQUESTS_MAX = 80
/** Uploads by their request's number, and answers behind them. */
const bodyOf = tellingBodies(2 * REQUESTS_MAX, BODY_BYTES_MAX)
const CONTINUE = 100
const EARLY_HINTS = 103
const METHODS = ['GET', 'GET', 'GET', 'HEAD', 'DELETE', 'POST', 'POST', 'PUT'] as const

/** For the word that its body is wanted (RFC 9110 §10.1.1) a visitor waits not at all, for a while, or until it or an answer has come. */
type Patience = 'none' | 'some' | 'endless'

export type Protocol = 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2'

export type Asking = {
  hostname: string
  protocol: Protocol
  /** Whether the visitor's patience may be endless: somebody lets the time pass then. */
  mayWait: boolean
}

/** `whole`: its answer came, and all of it, or its tunnel has ended as its ends wanted. `refused`: the edge said that there is none. `cut`: it ended as no visitor takes for an end. `left`: nobody waits for it. */
type Outcome = 'open' | 'whole' | 'refused' | 'cut' | 'left'

/** One request: what its visitor sends, what its application answers, and what has become of it. */
export class Asked {
  readonly number: number
  readonly hostname: string
  /** Over HTTP/1.0. */
  readonly isOld: boolean
  readonly method: string
  readonly upload: Buffer | undefined
  /** Its visitor says beforehand how long the upload is, or the application the answer. */
  readonly isUploadMeasured: boolean
  /** With `Expect: 100-continue`. */
  readonly expectsContinue: boolean
  /** With `Upgrade: websocket`: whether its application changes the protocol. */
  readonly upgrade: 'accepted' | 'refused' | undefined
  /** Its visitor speaks the other protocol before it is told of the change. */
  readonly speaksAhead: boolean
  /** Behind the change of protocol. */
  readonly tunnel: Tunnel
  readonly #isAnswerMeasured: boolean
  /** Over HTTP/1.1: the answer ends with its connection. */
  readonly endsConnection: boolean
  readonly status: number
  readonly #answerBytes: number
  readonly hasTrailers: boolean
  /** The interim answers of its application, asked for or not: to the head, and before the answer. */
  readonly interimAtOnce: readonly number[]
  readonly interimBefore: readonly number[]
  /** It is answered while its upload is still on its way. */
  readonly isEarly: boolean
  /** Something was done to it after which it need not be answered. */
  mayFail = false
  outcome: Outcome = 'open'
  /** How often its head came to an application. */
  timesSeen = 0
  readonly uploads: Buffer[] = []
  readonly #interimSeen: number[] = []
  readonly #random: Random
  #patience: Patience

  constructor(number: number, { hostname, protocol, mayWait }: Asking, random: Random) {
    this.number = number
    this.hostname = hostname
    this.isOld = protocol === 'HTTP/1.0'
    this.#random = random
    this.method = random.pick(METHODS)
    this.upload = this.method === 'POST' || this.method === 'PUT' ? bodyOf(number, lengthOf(random)) : undefined
    this.isUploadMeasured = this.isOld || random.chance(0.5)
    this.expectsContinue = this.upload !== undefined && !this.#isEmpty && random.chance(0.4)
    this.#patience = this.expectsContinue
      ? random.pick(mayWait && !this.isOld ? ['none', 'some', 'endless', 'endless'] : ['none', 'some'])
      : 'none'
    this.upgrade =
      this.method === 'GET' && protocol !== 'HTTP/2' && random.chance(0.4)
        ? random.pick(['accepted', 'accepted', 'refused'] as const)
        : undefined
    this.speaksAhead = this.mayChange && this.upgrade === 'accepted' && random.chance(0.3)
    this.tunnel = new Tunnel(random, (end) => bodyOf(end === 'visitor' ? number : number + REQUESTS_MAX, lengthOf(random)))
    this.status = random.chance(0.1) ? 204 : 200
    this.#answerBytes = lengthOf(random)
    this.hasTrailers = this.hasBody && random.chance(0.2)
    this.#isAnswerMeasured = !this.hasTrailers && random.chance(0.6)
    this.endsConnection = this.hasBody && !this.hasTrailers && random.chance(0.1)
    this.interimAtOnce = random.chance(this.expectsContinue ? 0.5 : 0.05) ? random.pick([[100], [100], [100, 100]]) : []
    this.interimBefore = [...(random.chance(0.1) ? [100] : []), ...(random.chance(0.1) ? [EARLY_HINTS] : [])]
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
    return this.method !== 'POST' && !this.mayChange && (this.upload === undefined || this.#isEmpty)
  }

  /** Nothing has to be sent behind the head. */
  get #isEmpty(): boolean {
    return this.isUploadMeasured && this.upload?.length === 0
  }

  /** Whether its protocol may be changed; over HTTP/1.0 nobody hears of such a wish (RFC 9110 §7.8). */
  get mayChange(): boolean {
    return this.upgrade !== undefined && !this.isOld
  }

  /** Whether it waits for an upstream that is away. */
  get isHoldable(): boolean {
    return (this.method === 'GET' || this.method === 'HEAD') && !this.mayChange
  }

  /** Its visitor keeps the upload back at the moment. To be asked before each piece of it. */
  keepsBack(): boolean {
    if (this.#patience === 'some' && this.#random.chance(0.2)) this.#patience = 'none'
    return this.#patience !== 'none' && !this.#isToContinue
  }

  /** Its visitor has asked whether the body is wanted, and not been told so: behind an answer it need not send it. */
  get isUploadUnwanted(): boolean {
    return this.expectsContinue && !this.isOld && !this.#isToContinue
  }

  /** Its application has said that the body is wanted, and its visitor waits still. */
  get isUninformed(): boolean {
    const wasSaid = this.timesSeen > 0 && this.interimAtOnce.includes(CONTINUE)
    return wasSaid && this.#patience === 'endless' && this.isUploadUnwanted && this.outcome === 'open' && !this.mayFail
  }

  get #isToContinue(): boolean {
    return this.#interimSeen.includes(CONTINUE)
  }

  /** Its visitor has read an interim answer. Returns what is wrong with that. */
  informed(status: number): string | undefined {
    const isWanted = status === CONTINUE ? this.expectsContinue : this.interimBefore.includes(status)
    const isWrong = this.isOld || !isWanted || this.#interimSeen.includes(status)
    this.#interimSeen.push(status)
    return isWrong ? `${this.name} was told ${this.#interimSeen}` : undefined
  }

  /** What its application has been told of expectations and a change of protocol. Returns what is wrong with that. */
  reached(expect: string | undefined, upgrade: string | undefined): string | undefined {
    const expected = this.expectsContinue && !this.isOld ? '100-continue' : undefined
    const changed = this.mayChange ? 'websocket' : undefined
    return expect === expected && upgrade === changed ? undefined : `${this.name} came with Expect: ${expect} and Upgrade: ${upgrade}`
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
    if ((trailer !== undefined) !== (this.hasTrailers && !this.isOld)) return `${this.name} got the trailer ${trailer}`
    return undefined
  }

  /** It has ended without one. Returns what is wrong with that. */
  ended(): string | undefined {
    if (this.outcome !== 'open') return undefined
    this.outcome = 'cut'
    return this.mayFail ? undefined : `${this.name} was cut`
  }

  /** One end of its tunnel has, as that says with what is wrong. Returns it where the ends or what carries them did nothing to it. */
  tunnelEnded(wrong: string | undefined): string | undefined {
    return wrong === undefined || this.mayFail || this.outcome === 'left' ? undefined : `${this.name}: ${wrong}`
  }

  /** Nothing is to come of it any more. */
  get isOver(): boolean {
    return this.outcome !== 'open' && this.tunnel.isOver
  }

  get name(): string {
    return `${this.method} ${this.path} of ${this.hostname}`
  }
}

function lengthOf(random: Random): number {
  return Math.min(BODY_BYTES_MAX, random.pick([0, 0, ...PIECES]) + random.pick([0, ...PIECES]))
}
