import { inChunks, readBody, readHead } from '../http1-bytes.ts'
import type { Line } from '../line.ts'
import { PIECES } from '../telling-bytes.ts'
import { arrive } from './arrive.ts'
import type { Asked } from './asked.ts'
import { createVisitorLine, type VisitorConnection, type VisitorParts } from './visitor-connection.ts'

const EMPTY = Buffer.alloc(0)
const PIPELINED_MAX = 4
const SWITCHING_PROTOCOLS = 101

/** A head, an upload, or the first words of a tunnel. */
type Part = { asked: Asked; rest: Buffer; isUpload: boolean; hasBegun: boolean }

/** Over HTTP/1.1, requests one behind the other; or over HTTP/1.0, where each waits for the answer before it. */
export class Http1Visits implements VisitorConnection {
  readonly line: Line = createVisitorLine({ taken: (chunk) => this.#receive(chunk), closed: () => this.#closed() })
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1'
  isToEnd = false
  readonly #parts: VisitorParts
  readonly #asked: Asked[] = []
  #unsent: Part[] = []
  #received: Buffer = EMPTY
  /** Over HTTP/1.0: whether it asked for more than one answer on the connection. */
  #keepsAlive = false
  /** What it asked for was granted: another protocol. */
  #tunnelled: Asked | undefined

  constructor(parts: VisitorParts, protocol: 'HTTP/1.0' | 'HTTP/1.1') {
    this.#parts = parts
    this.protocol = protocol
  }

  get #isOld(): boolean {
    return this.protocol === 'HTTP/1.0'
  }

  get hasRoom(): boolean {
    const isFull = this.#asked.length >= (this.#isOld ? 1 : PIPELINED_MAX) || this.#asked.at(-1)?.upgrade !== undefined
    return !this.line.isOver() && !this.isToEnd && !this.#tunnelled && !isFull
  }

  ask(asked: Asked): void {
    const { random } = this.#parts
    const head = Buffer.from(this.#headOf(asked))
    this.#asked.push(asked)
    this.#unsent.push({ asked, rest: head, isUpload: false, hasBegun: false })
    if (asked.speaksAhead)
      this.#unsent.push({ asked, rest: asked.tunnel.visitor.words(random.pick(PIECES)), isUpload: false, hasBegun: false })
    if (!asked.upload) return
    const upload = asked.isUploadMeasured ? asked.upload : inChunks(asked.upload, () => random.pick(PIECES))
    this.#unsent.push({ asked, rest: upload, isUpload: true, hasBegun: false })
  }

  #headOf({ method, path, hostname, upload, isUploadMeasured, expectsContinue, upgrade }: Asked): string {
    const { random } = this.#parts
    this.#keepsAlive = random.chance(0.7)
    const lines = [`${method} ${path} ${this.protocol}`]
    if (!this.#isOld || random.chance(0.5)) lines.push(`Host: ${hostname}`)
    const options = this.#isOld ? (this.#keepsAlive ? ['keep-alive'] : []) : ['TE']
    if (!this.#isOld) lines.push('TE: trailers')
    if (upgrade) lines.push('Upgrade: websocket')
    if (upgrade) options.push('Upgrade')
    if (options.length > 0) lines.push(`Connection: ${options.join(', ')}`)
    if (upload) lines.push(isUploadMeasured ? `Content-Length: ${upload.length}` : 'Transfer-Encoding: chunked')
    if (expectsContinue) lines.push('Expect: 100-continue')
    return `${lines.join('\r\n')}\r\n\r\n`
  }

  sendOn(bytes: number): boolean {
    if (this.line.isOver()) return false
    if (this.#tunnelled && this.#unsent.length === 0) return this.#tunnelled.tunnel.visitor.sayOn(bytes)
    const pieces: Buffer[] = []
    for (let left = bytes, part = this.#unsent[0]; left > 0 && part && !isKeptBack(part); part = this.#unsent[0]) {
      const piece = part.rest.subarray(0, left)
      part.rest = part.rest.subarray(piece.length)
      part.hasBegun = true
      left -= piece.length
      pieces.push(piece)
      if (part.rest.length === 0) this.#unsent.shift()
    }
    if (pieces.length === 0) return false
    arrive(this.line.socket, Buffer.concat(pieces))
    return true
  }

  open(): void {}

  openWide(): void {}

  leave(): void {
    for (const asked of this.#asked.splice(0)) asked.outcome = 'left'
    this.line.socket.destroy()
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    while (!this.#tunnelled && this.#readOne());
    if (!this.#tunnelled) return
    this.#parts.fault(this.#tunnelled.tunnel.visitor.hear(this.#received))
    this.#received = EMPTY
  }

  #readOne(): boolean {
    const head = readHead(this.#received)
    if (!head) return false
    const status = statusOf(head.text)
    const asked = this.#asked[0]
    if (!asked) {
      this.#parts.fault(`an answer that nobody asked for: ${head.text}`)
      return false
    }
    if (status < 200) {
      this.#received = this.#received.subarray(head.end)
      if (status === SWITCHING_PROTOCOLS) this.#changeProtocol(asked, head.text)
      else this.#parts.fault(asked.informed(status))
      return true
    }
    const hasBody = status !== 204 && asked.method !== 'HEAD'
    if (hasBody && this.#isOld && endsWithConnection(head.text)) return false
    const answer = hasBody ? readBody(this.#received, head) : { body: EMPTY, trailers: '', end: head.end }
    if (!answer) return false
    this.#received = this.#received.subarray(answer.end)
    this.#asked.shift()
    this.#answered(asked, status, head.text, answer)
    return true
  }

  #answered(asked: Asked, status: number, head: string, { body, trailers }: { body: Buffer; trailers: string }): void {
    const number = /^x-number: (\d+)\r$/im.exec(head)?.[1]
    this.#parts.fault(asked.answered(status, number, body, trailers || undefined))
    if (asked.isUploadUnwanted) this.#unsent = this.#unsent.filter((part) => part.asked !== asked || part.hasBegun)
    if (this.#isOld && /^transfer-encoding:/im.test(head)) this.#parts.fault(`${asked.name} got chunks over HTTP/1.0`)
    const isKept = this.#isOld ? /^connection: keep-alive\r$/im.test(head) : !/^connection: close\r$/im.test(head)
    if (this.#isOld && isKept && !this.#keepsAlive) this.#parts.fault(`${asked.name} was to be the last of its connection`)
    if (isKept) return
    this.isToEnd = true
    for (const other of this.#asked.splice(0)) other.outcome = 'left' // to be asked elsewhere
  }

  #changeProtocol(asked: Asked, head: string): void {
    if (asked.upgrade !== 'accepted' || !/^upgrade: websocket\r$/im.test(head)) this.#parts.fault(`${asked.name} got ${head}`)
    this.#tunnelled = asked
    asked.tunnel.visitor.open(this.line, (wrong) => {
      this.#parts.fault(asked.tunnelEnded(wrong))
      if (asked.outcome === 'open') asked.outcome = 'whole'
    })
  }

  /** An answer over HTTP/1.0 may be whole with that. */
  #closed(): void {
    const [first, ...others] = this.#asked.splice(0)
    for (const asked of others) asked.outcome = 'left'
    if (!first || this.#tunnelled) return
    const head = readHead(this.#received)
    if (this.#isOld && head && this.line.socket.writableFinished && endsWithConnection(head.text)) {
      this.#answered(first, statusOf(head.text), head.text, { body: this.#received.subarray(head.end), trailers: '' })
    } else {
      this.#parts.fault(first.ended())
    }
  }
}

function isKeptBack({ asked, isUpload, hasBegun }: Part): boolean {
  return isUpload && !hasBegun && asked.keepsBack()
}

function statusOf(head: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1])
}

/** Rather than with a length or chunks. */
function endsWithConnection(head: string): boolean {
  return !/^(content-length|transfer-encoding):/im.test(head)
}
