import { HpackDecoder } from '../../src/edge/http2/hpack-decoder.ts'
import {
  CONTINUATION,
  DATA,
  FrameCollector,
  frame,
  GOAWAY,
  HEADERS,
  literals,
  PING,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
  word,
} from './http2-frames.ts'

const END_STREAM = 1
const ACK = 1
const END_HEADERS = 4
const INITIAL_WINDOW = 4
const INITIAL_WINDOW_BYTES = 65_535
const FRAME_BYTES_MAX = 16_384
const HEAD_BYTES_MAX = 64 * 1024
const WIDE_BYTES = 100_000_000

export type Http2PeerListener = {
  onHead(streamId: number, fields: ReadonlyMap<string, string>, endsStream: boolean): void
  onData(streamId: number, bytes: Buffer, endsStream: boolean): void
  onReset(streamId: number): void
  onGoaway(lastStreamId: number): void
}

/** One end of HTTP/2, whoever's, that sends no more than the other one's windows allow. What it says leaves by `say`. */
export class Http2Peer {
  readonly #collector = new FrameCollector()
  readonly #decoder = new HpackDecoder(HEAD_BYTES_MAX)
  readonly #say: (bytes: Buffer) => void
  readonly #on: Http2PeerListener
  readonly #grants = new Map<number, number>()
  readonly #sent = new Map<number, number>()
  #handled = 0
  #initialWindow = INITIAL_WINDOW_BYTES

  constructor(say: (bytes: Buffer) => void, on: Http2PeerListener) {
    this.#say = say
    this.#on = on
  }

  receive(chunk: Buffer): void {
    this.#collector.add(chunk)
    const { frames } = this.#collector
    while (this.#handled < frames.length) {
      const { type, flags, streamId, payload } = frames[this.#handled]!
      this.#handled += 1
      const endsStream = (flags & END_STREAM) !== 0
      if (type === DATA) this.#on.onData(streamId, payload, endsStream)
      else if (type === HEADERS) this.#on.onHead(streamId, this.#decode(payload), endsStream)
      else if (type === RST_STREAM) this.#on.onReset(streamId)
      else if (type === GOAWAY) this.#on.onGoaway(payload.readUInt32BE())
      else if (type === PING && (flags & ACK) === 0) this.say(frame(PING, ACK, 0, payload))
      else if (type === WINDOW_UPDATE) this.#grants.set(streamId, (this.#grants.get(streamId) ?? 0) + payload.readUInt32BE())
      else if (type === SETTINGS && (flags & ACK) === 0) this.#settle(payload)
      else if (type === CONTINUATION) throw new Error('a head of several frames is not for here')
    }
  }

  /** Says what is no matter of one stream's order, such as SETTINGS and PING. */
  say(...frames: Buffer[]): void {
    this.#say(Buffer.concat(frames))
  }

  /** Each new stream's window from now on; those of streams that are open change by the difference. */
  setInitialWindow(bytes: number): void {
    this.say(frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, INITIAL_WINDOW]), word(bytes)])))
  }

  /** Lets so many bytes more come on the stream, or with 0 on the connection. */
  open(streamId: number, bytes: number): void {
    this.say(frame(WINDOW_UPDATE, 0, streamId, word(bytes)))
  }

  /** Has room for whatever comes from now on. */
  openWide(): void {
    this.setInitialWindow(WIDE_BYTES)
    this.open(0, WIDE_BYTES)
  }

  head(streamId: number, fields: readonly string[], endsStream: boolean): void {
    this.say(frame(HEADERS, END_HEADERS | (endsStream ? END_STREAM : 0), streamId, literals(...fields)))
  }

  /** How many bytes may be sent on the stream now. */
  roomOn(streamId: number): number {
    const room = (id: number, initial: number) => initial + (this.#grants.get(id) ?? 0) - (this.#sent.get(id) ?? 0)
    return Math.min(room(streamId, this.#initialWindow), room(0, INITIAL_WINDOW_BYTES))
  }

  /** No more than there is room for. */
  data(streamId: number, bytes: Buffer, endsStream: boolean): void {
    for (const id of [0, streamId]) this.#sent.set(id, (this.#sent.get(id) ?? 0) + bytes.length)
    for (let at = 0; at === 0 || at < bytes.length; at += FRAME_BYTES_MAX) {
      const isLast = endsStream && at + FRAME_BYTES_MAX >= bytes.length
      this.say(frame(DATA, isLast ? END_STREAM : 0, streamId, bytes.subarray(at, at + FRAME_BYTES_MAX)))
    }
  }

  reset(streamId: number, code: number): void {
    this.say(frame(RST_STREAM, 0, streamId, word(code)))
  }

  goaway(lastStreamId: number): void {
    this.say(frame(GOAWAY, 0, 0, Buffer.concat([word(lastStreamId), word(0)])))
  }

  #decode(block: Buffer): Map<string, string> {
    return new Map(this.#decoder.decode(block, 0, block.length).fields.map(({ name, value }) => [name, value]))
  }

  #settle(payload: Buffer): void {
    for (let at = 0; at < payload.length; at += 6)
      if (payload.readUInt16BE(at) === INITIAL_WINDOW) this.#initialWindow = payload.readUInt32BE(at + 2)
    this.say(frame(SETTINGS, ACK, 0))
  }
}
