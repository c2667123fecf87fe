import type { Random } from '../../fuzz/random.ts'
import { inChunks, readBody, readHead } from '../http1-bytes.ts'
import { frame, PREFACE, SETTINGS } from '../http2-frames.ts'
import { Http2Peer } from '../http2-peer.ts'
import { createLine, type Line } from '../line.ts'
import { PIECES } from '../telling-bytes.ts'
import { arrive } from './arrive.ts'
import type { Asked } from './asked.ts'
import type { TunnelEnd } from './tunnel-end.ts'

const EMPTY = Buffer.alloc(0)
const INTERNAL_ERROR = 2
const ANSWER_ENDS = Symbol('the connection ends')

function resetByPeer(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
}

/** Requests by their numbers, and those that something happened to. */
export type Questions = {
  byNumber(number: number): Asked
  /** An application has ended something under these conditions: who waits for an answer from `hostname` need not get one any more. */
  mayFail(hostname: string, isAffected?: (asked: Asked) => boolean): void
  /** The same for those who ask before the edge can have heard of it. */
  mayFailUntilHeard(hostname: string): void
  fault(what: string | undefined): void
}

/** One end of a connection on which an application answers; what it has to say leaves when somebody says so. */
export interface ApplicationConnection {
  readonly line: Line
  readonly hostname: string
  /** Sends so many more bytes of what it owes. False: it owes nothing, or may not send it now. */
  answerOn(bytes: number): boolean
  /** One of the things that happen to connections. */
  fail(random: Random): void
  /** As of an application whose process is gone. */
  reset(): void
  /** Opens a window by chance, where it has some. */
  open(random: Random): void
  /** Has room for all from now on. */
  openWide(): void
}

function fieldsOf(asked: Asked): string[] {
  return ['x-number', String(asked.number), ...(asked.lengthField === undefined ? [] : ['content-length', String(asked.lengthField)])]
}

/** Over HTTP/1.1: one request at a time. */
export class Http1Application implements ApplicationConnection {
  readonly #questions: Questions
  readonly hostname: string
  readonly #random: Random
  readonly line: Line = createLine({ onTaken: (chunk) => this.#take(chunk), endsToo: true })
  #received: Buffer = EMPTY
  #owed: (Buffer | typeof ANSWER_ENDS)[] = []
  #last: Asked | undefined
  /** Its head is known, and it may have been answered already. */
  #isReading = false
  #tunnel: TunnelEnd | undefined
  /** It has said that it says no more, which the edge may not have heard. */
  #hasEnded = false

  constructor(hostname: string, questions: Questions, random: Random) {
    this.hostname = hostname
    this.#questions = questions
    this.#random = random
  }

  answerOn(bytes: number): boolean {
    const next = this.#owed.shift()
    if (this.line.socket.destroyed) return false
    if (next === undefined) return this.#tunnel?.sayOn(bytes) ?? false
    if (next === ANSWER_ENDS) {
      this.#end()
      return true
    }
    if (next.length > bytes) this.#owed.unshift(next.subarray(bytes))
    arrive(this.line.socket, next.subarray(0, bytes))
    return true
  }

  fail(random: Random): void {
    if (random.chance(0.5)) return void this.reset()
    if (this.#last?.endsConnection) return // it would be the answer's proper end
    this.#mayFail()
    this.#owed = []
    this.#end()
  }

  reset(): void {
    this.#mayFail()
    this.line.socket.destroy(resetByPeer())
    this.#owed = []
  }

  #mayFail(): void {
    const last = this.#last // without one its first request may be on its way, and be lost
    const mayBeHere = (asked: Asked) => !asked.tunnel.application.isOpen && (!last || !asked.isReplayable)
    this.#questions.mayFail(this.hostname, (asked) => asked === last || mayBeHere(asked))
  }

  open(): void {}

  openWide(): void {}

  #end(): void {
    this.#hasEnded = true
    if (this.#tunnel) this.#tunnel.end()
    else this.line.socket.push(null)
  }

  #take(chunk: Buffer): void {
    if (this.#tunnel) {
      this.#questions.fault(this.#tunnel.hear(chunk))
      return
    }
    if (this.#hasEnded) return
    this.#received = Buffer.concat([this.#received, chunk])
    const head = readHead(this.#received)
    if (!head) return
    const asked = this.#questions.byNumber(Number(/^[A-Z]+ \/(\d+) /.exec(head.text)![1]))
    if (!this.#isReading) this.#begin(asked, head.text)
    const upload = readBody(this.#received, head)
    if (!upload) return
    this.#isReading = false
    asked.uploads.push(upload.body)
    this.#received = this.#received.subarray(upload.end)
    if (asked.mayChange && asked.upgrade === 'accepted') this.#changeProtocol(asked)
    else if (!asked.isEarly) this.#owe(asked)
  }

  #begin(asked: Asked, head: string): void {
    this.#isReading = true
    this.#last = asked
    asked.timesSeen += 1
    const field = (name: string) => new RegExp(`^${name}: (.*)\r$`, 'im').exec(head)?.[1]
    this.#questions.fault(asked.reached(field('expect'), field('upgrade')))
    this.#inform(asked.interimAtOnce)
    if (asked.isEarly) this.#owe(asked)
  }

  #inform(interim: readonly number[]): void {
    for (const status of interim) this.#owed.push(Buffer.from(`HTTP/1.1 ${status} Interim\r\nLink: </a.css>\r\n\r\n`))
  }

  /** The first words of the tunnel may leave in one piece with that. */
  #changeProtocol(asked: Asked): void {
    this.#inform(asked.interimBefore)
    this.#tunnel = asked.tunnel.application
    this.#tunnel.open(this.line, (wrong) => this.#questions.fault(asked.tunnelEnded(wrong)))
    const head = Buffer.from('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    this.#owed.push(Buffer.concat([head, this.#tunnel.words(this.#random.pick([0, ...PIECES]))]))
  }

  #owe(asked: Asked): void {
    const fields = fieldsOf(asked)
    const isChunked = asked.hasBody && asked.lengthField === undefined && !asked.endsConnection
    if (isChunked) fields.push('transfer-encoding', 'chunked')
    if (asked.endsConnection) fields.push('connection', 'close')
    const lines = fields.map((name, i) => (i % 2 === 0 ? `${name}: ${fields[i + 1]}\r\n` : ''))
    this.#inform(asked.interimBefore)
    this.#owed.push(Buffer.from(`HTTP/1.1 ${asked.status} Fine\r\n${lines.join('')}\r\n`))
    this.#owed.push(isChunked ? this.#chunks(asked) : asked.answer)
    if (asked.endsConnection) this.#owed.push(ANSWER_ENDS)
  }

  #chunks(asked: Asked): Buffer {
    const chunks = inChunks(asked.answer, () => this.#random.pick(PIECES))
    return asked.hasTrailers ? Buffer.concat([chunks.subarray(0, -2), Buffer.from('x-sum: 7\r\n\r\n')]) : chunks
  }
}

/** The interim answers, and once `isReady` the answer. */
type Owed = { asked: Asked; interim: number[]; isReady: boolean; isHeadSent: boolean; rest: Buffer }

/** Over HTTP/2, in plain text. */
export class Http2Application implements ApplicationConnection {
  readonly #questions: Questions
  readonly hostname: string
  readonly line: Line = createLine({ onTaken: (chunk) => this.#take(chunk) })
  readonly #peer: Http2Peer
  readonly #streams = new Map<number, { asked: Asked; upload: Buffer[] }>()
  readonly #owed = new Map<number, Owed>()
  #isGreeted = false
  /** It has said which stream is its last. */
  #isLeaving = false
  #lastStreamId = 0

  constructor(hostname: string, questions: Questions) {
    this.hostname = hostname
    this.#questions = questions
    this.#peer = new Http2Peer((bytes) => arrive(this.line.socket, bytes), {
      onHead: (id, fields, endsStream) => this.#begin(id, fields, endsStream),
      onData: (id, bytes, endsStream) => this.#upload(id, bytes, endsStream),
      onReset: (id) => this.#forget(id),
      onGoaway() {},
    })
  }

  answerOn(bytes: number): boolean {
    for (const [id, owed] of this.#owed) if (this.#answer(id, owed, bytes)) return true
    return false
  }

  fail(random: Random): void {
    const [id, stream] = random.pick([...this.#streams]) ?? []
    const kind = random.below(4)
    if (kind === 0 || !this.#isGreeted) {
      this.reset()
    } else if (kind === 1) {
      const isMoved = (asked: Asked) => asked.upload === undefined && this.#lastStreamId > 0 // one that has served nobody is as good as none
      this.#questions.mayFail(this.hostname, (asked) => asked.timesSeen === 0 && !isMoved(asked))
      this.#isLeaving = true
      this.#peer.goaway(this.#lastStreamId)
    } else if (id !== undefined) {
      stream!.asked.mayFail = true
      this.#peer.reset(id, INTERNAL_ERROR)
      this.#forget(id)
    }
  }

  reset(): void {
    this.#questions.mayFail(this.hostname)
    if (!this.#isGreeted) this.#questions.mayFailUntilHeard(this.hostname) // they wait for a connection that nobody opens any more
    this.line.socket.destroy(resetByPeer())
    this.#owed.clear()
  }

  open(random: Random): void {
    if (!this.#isGreeted) return // SETTINGS come first
    const id = random.pick([0, ...this.#streams.keys()])
    this.#peer.open(id, random.pick(PIECES))
    if (random.chance(0.1)) this.#peer.setInitialWindow(random.pick([1, ...PIECES]))
  }

  openWide(): void {
    this.#peer.openWide()
  }

  #take(chunk: Buffer): void {
    this.#peer.receive(this.#isGreeted ? chunk : chunk.subarray(PREFACE.length))
    if (!this.#isGreeted) this.#peer.say(frame(SETTINGS, 0, 0))
    this.#isGreeted = true
  }

  #begin(id: number, fields: ReadonlyMap<string, string>, endsStream: boolean): void {
    const path = fields.get(':path')
    if (path !== undefined && !this.#isLeaving) {
      const asked = this.#questions.byNumber(Number(path.slice(1)))
      asked.timesSeen += 1
      this.#lastStreamId = id
      this.#streams.set(id, { asked, upload: [] })
      this.#questions.fault(asked.reached(fields.get('expect'), fields.get('upgrade')))
      this.#owed.set(id, { asked, interim: [...asked.interimAtOnce], isReady: false, isHeadSent: false, rest: asked.answer })
      if (asked.isEarly) this.#owe(id)
    }
    if (endsStream) this.#whole(id)
  }

  #upload(id: number, bytes: Buffer, endsStream: boolean): void {
    this.#streams.get(id)?.upload.push(bytes)
    if (endsStream) this.#whole(id)
  }

  #whole(id: number): void {
    const stream = this.#streams.get(id)
    if (!stream) return
    stream.asked.uploads.push(Buffer.concat(stream.upload))
    if (!stream.asked.isEarly) this.#owe(id)
  }

  #owe(id: number): void {
    const owed = this.#owed.get(id)
    owed?.interim.push(...owed.asked.interimBefore)
    if (owed) owed.isReady = true
  }

  #answer(id: number, owed: Owed, bytes: number): boolean {
    const { asked } = owed
    const interim = owed.interim.shift()
    if (interim !== undefined) {
      this.#peer.head(id, [':status', String(interim), 'link', '</a.css>'], false)
      return true
    }
    if (!owed.isReady) return false
    if (!owed.isHeadSent) {
      owed.isHeadSent = true
      const isAll = owed.rest.length === 0 && !asked.hasTrailers
      this.#peer.head(id, [':status', String(asked.status), ...fieldsOf(asked)], isAll)
      if (isAll) this.#forget(id)
      return true
    }
    const size = Math.min(bytes, owed.rest.length, this.#peer.roomOn(id))
    if (size <= 0 && owed.rest.length > 0) return false
    const isLast = size === owed.rest.length
    if (size > 0 || !asked.hasTrailers) this.#peer.data(id, owed.rest.subarray(0, size), isLast && !asked.hasTrailers)
    owed.rest = owed.rest.subarray(size)
    if (!isLast) return true
    if (asked.hasTrailers) this.#peer.head(id, ['x-sum', '7'], true)
    this.#forget(id)
    return true
  }

  #forget(id: number): void {
    this.#streams.delete(id)
    this.#owed.delete(id)
  }
}
