import type { TLSSocket } from 'node:tls'
import { openTls, type Target } from './raw-visitor.ts'

export type RawFrame = { type: number; flags: number; streamId: number; payload: Buffer }

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
// The kinds of frames (RFC 9113 §6), written down apart from what is tested.
export const DATA = 0
export const HEADERS = 1
export const PRIORITY = 2
export const RST_STREAM = 3
export const SETTINGS = 4
export const PUSH_PROMISE = 5
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const CONTINUATION = 9
const WAIT_MS_MAX = 30_000
const EMPTY = Buffer.alloc(0)

export function frame(type: number, flags: number, streamId: number, payload: Buffer | number[] = EMPTY): Buffer {
  const bytes = Buffer.from(payload as Buffer)
  const head = Buffer.alloc(9)
  head.writeUIntBE(bytes.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(streamId, 5)
  return Buffer.concat([head, bytes])
}

/** What a visitor says first. */
export const BEGINNING = Buffer.concat([PREFACE, frame(SETTINGS, 0, 0)])

export function word(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A header block of literals that no table remembers: `literals(':path', '/')`. */
export function literals(...fields: string[]): Buffer {
  const text = (value: string) => Buffer.concat([integer(value.length, 0x7f), Buffer.from(value, 'latin1')])
  return Buffer.concat(fields.flatMap((value, i) => (i % 2 === 0 ? [Buffer.from([0]), text(value)] : [text(value)])))
}

/** GET or POST of a path as a header block. */
export function requestBlock(hostname: string, { method = 'GET', path = '/', more = [] as string[] } = {}): Buffer {
  return literals(':method', method, ':scheme', 'https', ':path', path, ':authority', hostname, ...more)
}

function integer(value: number, mask: number): Buffer {
  if (value < mask) return Buffer.from([value])
  const bytes = [mask]
  let rest = value - mask
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128)
  return Buffer.from([...bytes, rest])
}

/** What came of a stream's body. */
export function bodyOf(frames: readonly RawFrame[], streamId: number): string {
  return Buffer.concat(frames.filter((one) => one.type === DATA && one.streamId === streamId).map(({ payload }) => payload)).toString()
}

/** By how much the window of a stream was opened, or with 0 the connection's. */
export function opened(frames: readonly RawFrame[], id: number): number {
  return frames
    .filter(({ type, streamId }) => type === WINDOW_UPDATE && streamId === id)
    .reduce((sum, { payload }) => sum + payload.readUInt32BE(), 0)
}

/** Frames out of bytes that come in any pieces. */
export class FrameCollector {
  readonly frames: RawFrame[] = []
  #rest: Buffer = EMPTY

  add(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    while (this.#rest.length >= 9 && this.#rest.length >= 9 + this.#rest.readUIntBE(0, 3)) {
      const end = 9 + this.#rest.readUIntBE(0, 3)
      const [type, flags] = [this.#rest[3]!, this.#rest[4]!]
      this.frames.push({ type, flags, streamId: this.#rest.readUInt32BE(5), payload: Buffer.from(this.#rest.subarray(9, end)) })
      this.#rest = this.#rest.subarray(end)
    }
  }
}

/** An HTTP/2 connection to the edge on which the test says every frame itself. */
export class RawHttp2 {
  readonly socket: TLSSocket
  readonly #collector = new FrameCollector()
  #isClosed = false
  #changed: () => void = () => {}

  constructor(socket: TLSSocket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#collector.add(chunk)
      this.#changed()
    })
    socket.once('close', () => {
      this.#isClosed = true
      this.#changed()
    })
  }

  /** With the preface and SETTINGS sent. */
  static async open(target: Target, settings: Buffer | number[] = EMPTY): Promise<RawHttp2> {
    const raw = new RawHttp2(await openTls({ ...target, more: { ALPNProtocols: ['h2'] } }))
    raw.send(PREFACE, frame(4, 0, 0, settings))
    return raw
  }

  get frames(): readonly RawFrame[] {
    return this.#collector.frames
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  send(...frames: Buffer[]): boolean {
    return this.socket.writable && this.socket.write(Buffer.concat(frames))
  }

  /** Until what was sent has left, or the connection is over, in whatever way the edge ended it. */
  async drained(): Promise<void> {
    await Promise.race([new Promise((resolve) => this.socket.once('drain', resolve)), this.closed()])
  }

  /** The first frame so far or to come that is meant. Rejects when the connection closes before. */
  until(isMeant: (frame: RawFrame) => boolean): Promise<RawFrame> {
    return new Promise((resolve, reject) => {
      const seen = () => this.frames.map(({ type, streamId }) => `${type}/${streamId}`).slice(-20)
      const timer = setTimeout(() => reject(new Error(`no such frame came; there were ${seen().join(' ')}`)), WAIT_MS_MAX)
      this.#changed = () => {
        const found = this.frames.find(isMeant)
        if (!found && !this.#isClosed) return
        clearTimeout(timer)
        this.#changed = () => {}
        if (found) resolve(found)
        else reject(new Error(`closed before; there were ${seen().join(' ')}`))
      }
      this.#changed()
    })
  }

  /** The error code of the GOAWAY that ends the connection. */
  async goaway(): Promise<number> {
    return (await this.until(({ type }) => type === GOAWAY)).payload.readUInt32BE(4)
  }

  async closed(): Promise<void> {
    if (!this.#isClosed) await new Promise((resolve) => this.socket.once('close', resolve))
  }
}
