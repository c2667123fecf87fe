import { letGo, partOf } from '../let-go.ts'
import { type Budget, COST } from './budget.ts'
import { FrameReader, type OnFrame } from './frame-reader.ts'
import { checkFrame, contentOf } from './frame-rules.ts'
import { HeaderBlock } from './header-block.ts'
import { type DecodedHead, HpackDecoder } from './hpack-decoder.ts'
import { FLAG, FRAME, STREAM_ID_MAX, violation } from './protocol.ts'
import { type PeerSettings, readSettings } from './settings.ts'

/** What the peer has said. Each may throw ConnectionError. */
export type FrameListener = {
  /** A head or trailers. */
  onHead(streamId: number, endsStream: boolean, head: DecodedHead): void
  /** `size` is what counts against the windows: the content with its padding. */
  onData(streamId: number, endsStream: boolean, content: Buffer, size: number): void
  /** Returns whether it took back what we had work with. */
  onReset(streamId: number, code: number): boolean
  onSettings(settings: PeerSettings): void
  onPing(payload: Buffer, isAck: boolean): void
  onGoaway(lastStreamId: number, code: number): void
  onWindowUpdate(streamId: number, bytes: number): void
}

export type ReceiverRules = {
  /** The peer is a client, which begins with a preface. */
  hasPreface: boolean
  /** Of a head that is of use, as SETTINGS_MAX_HEADER_LIST_SIZE counts. */
  headBytesMax: number
  /** Of one as it comes, in any number of frames: read to its end it is an error of its stream alone. */
  blockBytesMax: number
  /** Whether a PING measures the way of something that was sent to the peer since the last one: many do so while data comes, and are to. */
  takePingDue(): boolean
}

/** Reads a peer's bytes as frames that keep to the rules of their kind, puts heads together, and charges for what brings nothing. */
export class FrameReceiver {
  readonly #listener: FrameListener
  readonly #budget: Budget
  readonly #rules: ReceiverRules
  readonly #reader: FrameReader
  readonly #decoder: HpackDecoder
  #block: HeaderBlock | undefined

  constructor(listener: FrameListener, budget: Budget, rules: ReceiverRules) {
    this.#listener = listener
    this.#budget = budget
    this.#rules = rules
    const onFrame: OnFrame = (type, flags, streamId, bytes, start, end) => this.#pass(type, flags, streamId, bytes, start, end)
    this.#reader = new FrameReader(onFrame, rules)
    this.#decoder = new HpackDecoder(rules.headBytesMax)
  }

  /** What has begun and should be complete before long. It is another object for each. */
  get unfinished(): object | undefined {
    return this.#block ?? this.#reader.unfinished
  }

  /** The chunk is used up then. Throws ConnectionError. */
  feed(chunk: Buffer): void {
    this.#reader.feed(chunk)
    letGo(chunk)
  }

  #pass(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    checkFrame(type, flags, streamId, end - start)
    if ((this.#block !== undefined) !== (type === FRAME.continuation)) throw violation('CONTINUATION where it cannot be, or missing')
    switch (type) {
      case FRAME.data:
        this.#passData(flags, streamId, bytes, start, end)
        break
      case FRAME.headers:
        this.#beginHead(flags, streamId, bytes, start, end)
        break
      case FRAME.continuation:
        this.#continueHead(flags, streamId, bytes.subarray(start, end))
        break
      case FRAME.rstStream:
        this.#budget.charge(this.#listener.onReset(streamId, bytes.readUInt32BE(start)) ? COST.reset : COST.ignored)
        break
      case FRAME.settings:
        this.#budget.charge(COST.settings)
        if (!(flags & FLAG.ack)) this.#listener.onSettings(readSettings(bytes, start, end, this.#rules.hasPreface))
        break
      case FRAME.ping:
        this.#passPing((flags & FLAG.ack) !== 0, bytes.subarray(start, end))
        break
      case FRAME.goaway:
        this.#budget.charge(COST.ignored)
        this.#listener.onGoaway(bytes.readUInt32BE(start) & STREAM_ID_MAX, bytes.readUInt32BE(start + 4))
        break
      case FRAME.windowUpdate:
        this.#listener.onWindowUpdate(streamId, bytes.readUInt32BE(start) & STREAM_ID_MAX)
        break
      default:
        this.#budget.charge(COST.ignored) // PRIORITY, and what future versions may bring
    }
  }

  #passPing(isAck: boolean, payload: Buffer): void {
    if (isAck || !this.#rules.takePingDue()) this.#budget.charge(COST.ping)
    this.#listener.onPing(payload, isAck)
  }

  #passData(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    const content = contentOf(FRAME.data, flags, bytes, start, end)
    const endsStream = (flags & FLAG.endStream) !== 0
    if (content.start === content.end && !endsStream) this.#budget.charge(COST.emptyData)
    this.#listener.onData(streamId, endsStream, partOf(bytes, content.start, content.end), end - start)
  }

  #beginHead(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (streamId % 2 === 0) throw violation('a stream that no client opened')
    const content = contentOf(FRAME.headers, flags, bytes, start, end)
    const endsStream = (flags & FLAG.endStream) !== 0
    if (flags & FLAG.endHeaders) {
      this.#listener.onHead(streamId, endsStream, this.#decoder.decode(bytes, content.start, content.end))
    } else {
      this.#block = new HeaderBlock(streamId, endsStream, this.#rules.blockBytesMax)
      this.#block.add(bytes.subarray(content.start, content.end))
    }
  }

  #continueHead(flags: number, streamId: number, part: Buffer): void {
    const block = this.#block!
    if (block.streamId !== streamId) throw violation('CONTINUATION of another stream')
    block.add(part)
    if (!(flags & FLAG.endHeaders)) return
    this.#block = undefined
    const whole = block.whole()
    this.#listener.onHead(streamId, block.endsStream, this.#decoder.decode(whole, 0, whole.length))
  }
}
