import { FLAG, FRAME } from '../../src/edge/http2/protocol.ts'
import { frame, PREFACE, word } from '../../test/support/http2-frames.ts'
import { nameAt } from './numbered-names.ts'
import type { ScriptedSocket } from './scripted-socket.ts'

/** What a visitor sends, turn after turn. */
export type Script = {
  title: string
  alpnProtocol: 'h2' | 'http/1.1'
  connections: number
  requestsATurn: number
  /** How many hostnames the requests of one connection go to. */
  hostnames: number
  start(): Visitor
}
type Visitor = { sendTurn(socket: ScriptedSocket): void }

export const AUTHORITY = 'bench.localhost'
const MINIMAL = ['User-Agent: h2load nghttp2/1.52.0']
const BROWSER = [
  'Connection: keep-alive',
  'sec-ch-ua: "Chromium";v="130", "Not?A_Brand";v="99"',
  'sec-ch-ua-mobile: ?0',
  'sec-ch-ua-platform: "macOS"',
  'Upgrade-Insecure-Requests: 1',
  'User-Agent: Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36',
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8',
  'Sec-Fetch-Site: none',
  'Sec-Fetch-Mode: navigate',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Accept-Language: en-US,en;q=0.9,de;q=0.8',
  'Cookie: session=0123456789abcdef0123456789abcdef; theme=dark',
]

const ANSWER_BYTES = 1_024
const WINDOW_OPENED_AT = 16 * ANSWER_BYTES

export const SCRIPTS: readonly Script[] = [
  http1('HTTP/1.1, minimal heads, 64 connections', () => MINIMAL),
  http1('HTTP/1.1, browser heads, 64 connections', () => BROWSER),
  http1('HTTP/1.1, minimal heads that never repeat', (count) => [...MINIMAL, `X-Count: ${count}`]),
  http1('HTTP/1.1, one of a million hostnames each', () => MINIMAL, 1_000_000),
  http2('HTTP/2, 16 connections × 8 streams', 16, 8),
  http2('HTTP/2, 64 connections × 1 stream', 64, 1),
]

function http1(title: string, fields: (count: number) => string[], hostnames = 1): Script {
  let count = 0
  const sendTurn = (socket: ScriptedSocket) => {
    count += 1
    const host = hostnames === 1 ? AUTHORITY : nameAt(AUTHORITY, Math.floor(Math.random() * hostnames))
    socket.emit('data', Buffer.from(`GET /index.html HTTP/1.1\r\nHost: ${host}\r\n${fields(count).join('\r\n')}\r\n\r\n`, 'latin1'))
  }
  return { title, alpnProtocol: 'http/1.1', connections: 64, requestsATurn: 1, hostnames, start: () => ({ sendTurn }) }
}

function http2(title: string, connections: number, streams: number): Script {
  return { title, alpnProtocol: 'h2', connections, requestsATurn: streams, hostnames: 1, start: () => http2Visitor(streams) }
}

/** Its first request puts three fields into the table, to which all others refer (RFC 7541 §6.1 and §6.2.1). */
function http2Visitor(streams: number): Visitor {
  const first = Buffer.from([0x82, 0x87, 0x41, ...text(AUTHORITY), 0x44, ...text('/index.html'), 0x7a, ...text('h2load nghttp2/1.52.0')])
  const again = Buffer.from([0x82, 0x87, 0xc0, 0xbf, 0xbe])
  let streamId = 1
  let taken = 0
  return {
    sendTurn(socket) {
      const frames = streamId === 1 ? [PREFACE, frame(FRAME.settings, FLAG.none, 0)] : []
      for (let i = 0; i < streams; i += 1) {
        frames.push(frame(FRAME.headers, FLAG.endStream | FLAG.endHeaders, streamId, streamId === 1 ? first : again))
        streamId += 2
        taken += ANSWER_BYTES
      }
      if (taken >= WINDOW_OPENED_AT) {
        frames.push(frame(FRAME.windowUpdate, FLAG.none, 0, word(taken)))
        taken = 0
      }
      socket.emit('data', Buffer.concat(frames))
    },
  }
}

function text(value: string): number[] {
  return [value.length, ...Buffer.from(value)]
}
