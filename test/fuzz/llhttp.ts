import { createRequire } from 'node:module'

/** Node's own parser, as strict as node:http uses it by default, without the server around it. */
type LlhttpParser = {
  initialize(kind: number, resource: object, maxHeaderSize?: number): void
  /** The number of bytes read, or an error that says how many were. */
  execute(bytes: Buffer): number | (Error & { code: string; bytesParsed: number })
  finish(): undefined | Error
  close(): void
  [callback: number]: unknown
}
type LlhttpConstructor = (new () => LlhttpParser) & Record<string, number>

type HttpCommon = { HTTPParser: LlhttpConstructor; methods: readonly string[] }

const { HTTPParser, methods: METHODS } = createRequire(import.meta.url)('node:_http_common') as HttpCommon
const HEAD_BYTES_MAX = 256 * 1024 // ours is stricter, and asked first
const SKIP_BODY = 1
/** Which of the arguments of kOnHeadersComplete is the status. */
const STATUS_ARGUMENT = 5
/** In the body of a request that asks for an upgrade, node keeps llhttp's error to itself, and says only how far it came. */
export const UNSAID = 'unsaid'

export type ReadRequest = {
  method: string
  target: string
  isHttp11: boolean
  /** Names and values in turn. */
  fields: string[]
  /** One character a byte. */
  body: string
  trailers: string[]
}

/** `keepsAlive`: the next request may come on the same connection. */
export type FoundRequest = ReadRequest & { keepsAlive: boolean }

export type ReadAnswer = { status: number; reason: string; fields: string[]; body: string; trailers: string[] }

/** How reading ended: at the end of a message, in the middle of one, or at something that is none. */
export type ReadingEnd = { kind: 'complete' } | { kind: 'incomplete' } | { kind: 'refused'; code: string; at: number }

export type Reading<Message> = { messages: Message[]; end: ReadingEnd; partial: Message | undefined }

type Parts = {
  fields: string[]
  body: string
  trailers: string[]
  url: string
  head: { major: number; minor: number; method: number | undefined; status: number; reason: string; keepsAlive: boolean } | undefined
}

const METHOD_NAMES = new Map<number, string>()

/** The requests that llhttp finds, one behind the other. */
export function readRequestsByLlhttp(bytes: Buffer): Reading<FoundRequest> {
  return read(HTTPParser.REQUEST!, bytes, undefined, ({ head, url, fields, body, trailers }) => ({
    method: methodNameOf(head!.method!),
    target: url,
    isHttp11: head!.major === 1 && head!.minor === 1,
    fields,
    body,
    trailers,
    keepsAlive: head!.keepsAlive,
  }))
}

/** Where each request ends that llhttp finds; given `methods`, each answer to requests with these. Slow: it is asked byte by byte. */
export function messageEndsByLlhttp(bytes: Buffer, methods?: readonly string[]): number[] {
  const ends: number[] = []
  let place = 0
  let finals = 0
  const kind = methods ? HTTPParser.RESPONSE! : HTTPParser.REQUEST!
  const parser = new HTTPParser()
  parser.initialize(kind, {}, HEAD_BYTES_MAX)
  parser[HTTPParser.kOnHeadersComplete!] = (...given: unknown[]) => {
    if (!methods || !isFinal(given[STATUS_ARGUMENT] as number)) return 0
    finals += 1
    return methods[finals - 1] === 'HEAD' ? SKIP_BODY : 0
  }
  parser[HTTPParser.kOnMessageComplete!] = () => void ends.push(place + 1)
  for (; place < bytes.length; place += 1) {
    const result = parser.execute(bytes.subarray(place, place + 1))
    if (typeof result !== 'number' || result === 0) break
    if (ends.at(-1) === place + 1) parser.initialize(kind, {}, HEAD_BYTES_MAX)
  }
  parser.close()
  return ends
}

/** The answers that llhttp finds to requests with these methods; `closes`: the connection ends behind the bytes. */
export function readAnswersByLlhttp(bytes: Buffer, methods: readonly string[], closes: boolean): Reading<ReadAnswer> {
  return read(HTTPParser.RESPONSE!, bytes, { methods, closes }, ({ head, fields, body, trailers }) => ({
    status: head!.status,
    reason: head!.reason,
    fields,
    body,
    trailers,
  }))
}

function read<Message>(
  kind: number,
  bytes: Buffer,
  answers: { methods: readonly string[]; closes: boolean } | undefined,
  make: (parts: Parts) => Message,
): Reading<Message> {
  const messages: Message[] = []
  if (bytes.length === 0) return { messages, end: { kind: 'complete' }, partial: undefined } // llhttp aborts the process when nothing began
  let parts: Parts | undefined
  let finals = 0
  const parser = new HTTPParser()
  const begin = () => {
    parts = { url: '', fields: [], body: '', trailers: [], head: undefined }
  }
  parser[HTTPParser.kOnMessageBegin!] = begin
  // Called for trailers, and for heads with many fields or behind a message with trailers.
  parser[HTTPParser.kOnHeaders!] = (fields: string[], url: string) => {
    if (parts!.head) return void parts!.trailers.push(...fields)
    parts!.fields.push(...fields)
    parts!.url += url
  }
  parser[HTTPParser.kOnHeadersComplete!] = (...given: unknown[]) => {
    const [major, minor, fields, method, url, status, reason, , keepsAlive] = given as [
      number,
      number,
      string[] | undefined,
      number,
      string | undefined,
      number,
      string,
      boolean,
      boolean,
    ]
    if (fields) parts!.fields.push(...fields)
    parts!.url += url ?? ''
    parts!.head = { major, minor, method, status, reason, keepsAlive }
    if (answers === undefined) return 0
    return isFinal(status) && answers.methods[finals] === 'HEAD' ? SKIP_BODY : 0
  }
  parser[HTTPParser.kOnBody!] = (chunk: Buffer) => {
    parts!.body += chunk.toString('latin1')
  }
  parser[HTTPParser.kOnMessageComplete!] = () => {
    if (isFinal(parts!.head!.status)) finals += 1
    messages.push(make(parts!))
    parts = undefined
  }
  let end: ReadingEnd = { kind: 'complete' }
  for (let at = 0; at < bytes.length; ) {
    // After a change of protocol it stops behind the request; whoever does not change protocols reads on from there.
    parser.initialize(kind, {}, HEAD_BYTES_MAX)
    const result = parser.execute(at === 0 ? bytes : bytes.subarray(at))
    if (typeof result !== 'number') {
      end = { kind: 'refused', code: result.code, at: at + result.bytesParsed }
      break
    }
    at += result
    if (at < bytes.length && parts?.head) {
      end = { kind: 'refused', code: UNSAID, at }
      break
    }
    if (at < bytes.length && result === 0) throw new Error('llhttp reads nothing and says nothing')
  }
  if (end.kind === 'complete') {
    const cut = answers?.closes === false && parts ? new Error() : parser.finish()
    if (cut) end = { kind: 'incomplete' }
  }
  const partial = parts?.head ? make(parts) : undefined
  parser.close()
  return { messages, end, partial }
}

/** No interim answer, which another one to the same request follows (RFC 9110 §15.2). */
function isFinal(status: number): boolean {
  return status >= 200 || status === 101
}

/** llhttp tells a method as a number, and nowhere which; so it is asked once about each. */
function methodNameOf(number: number): string {
  if (METHOD_NAMES.size === 0) for (const name of METHODS) METHOD_NAMES.set(methodNumberOf(name), name)
  return METHOD_NAMES.get(number) ?? `number ${number}`
}

function methodNumberOf(name: string): number {
  let told = -1
  const parser = new HTTPParser()
  parser.initialize(HTTPParser.REQUEST!, {})
  parser[HTTPParser.kOnHeadersComplete!] = (_major: number, _minor: number, _fields: string[], method: number) => {
    told = method
    return 0
  }
  parser.execute(Buffer.from(`${name} ${name === 'CONNECT' ? 'a:1' : '*'} HTTP/1.1\r\nHost: a\r\n\r\n`))
  parser.close()
  return told
}
