import type { Socket } from 'node:net'
import { isIP } from 'node:net'
import { unmapped } from '../lib/addresses.ts'
import { Patience } from './patience.ts'

/** `source` is undefined for a health check of the proxy itself (UNKNOWN, LOCAL): then the peer is the proxy. */
export type ProxyHeader = { kind: 'header'; source: string | undefined; bytes: number } | { kind: 'incomplete' } | { kind: 'invalid' }

const SIGNATURE_V2 = Buffer.from([0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a])
const LINE_BYTES_MAX_V1 = 107
const PAYLOAD_BYTES_MAX_V2 = 2_048
/** Of the families that there are: unspecified, IPv4, IPv6, UNIX. */
const ADDRESS_BYTES_V2 = [0, 12, 36, 216]
const LINE_V1 = /^PROXY (?:UNKNOWN(?: .*)?|(TCP4|TCP6) (\S+) (\S+) (\d{1,5}) (\d{1,5}))$/
const WAIT_MS_MAX = 5_000

/** `headerBytes`: of what the connection has said, what the proxy did. `no-header`: it began with something else. */
export type Introduction = { kind: 'introduced'; peer: string; headerBytes: number } | { kind: 'no-header' } | { kind: 'gone' }

/** Reads the PROXY protocol's header, version 1 or 2, from the first bytes of a connection. */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  const compared = Math.min(bytes.length, SIGNATURE_V2.length)
  if (bytes.subarray(0, compared).equals(SIGNATURE_V2.subarray(0, compared))) return readVersion2(bytes)
  if ('PROXY '.startsWith(bytes.toString('latin1', 0, 6))) return readVersion1(bytes)
  return { kind: 'invalid' }
}

/**
 * Takes the header off a new connection; resolves with the visitor's address (the proxy's own, when it speaks for itself), or after closing
 * what sent no header, or not in time.
 */
export function takeProxyHeader(socket: Socket, proxy: string): Promise<Introduction> {
  return new Promise((resolve) => {
    let kept: Buffer = Buffer.alloc(0)
    const look = () => {
      const bytes = socket.read() as Buffer | null
      if (!bytes) return
      kept = Buffer.concat([kept, bytes])
      const header = readProxyHeader(kept)
      if (header.kind === 'invalid') return settle({ kind: 'no-header' })
      if (header.kind === 'incomplete') return
      if (kept.length > header.bytes) socket.unshift(kept.subarray(header.bytes))
      settle({ kind: 'introduced', peer: header.source ?? proxy, headerBytes: header.bytes })
    }
    const gone = () => settle({ kind: 'gone' })
    const settle = (introduction: Introduction) => {
      stop()
      socket.off('readable', look).off('end', gone).off('close', gone)
      if (introduction.kind !== 'introduced') socket.destroy()
      resolve(introduction)
    }
    const stop = new Patience(WAIT_MS_MAX).wait(gone)
    socket.on('readable', look).once('end', gone).once('close', gone)
  })
}

function readVersion1(bytes: Buffer): ProxyHeader {
  const end = bytes.indexOf('\r\n')
  if (end < 0) return { kind: bytes.length > LINE_BYTES_MAX_V1 ? 'invalid' : 'incomplete' }
  const line = end + 2 <= LINE_BYTES_MAX_V1 ? LINE_V1.exec(bytes.toString('latin1', 0, end)) : undefined
  if (!line) return { kind: 'invalid' }
  const [, family, source] = line
  if (family === undefined) return { kind: 'header', source: undefined, bytes: end + 2 }
  if (isIP(source!) !== (family === 'TCP4' ? 4 : 6)) return { kind: 'invalid' }
  return { kind: 'header', source: unmapped(source!), bytes: end + 2 }
}

function readVersion2(bytes: Buffer): ProxyHeader {
  if (bytes.length < 16) return { kind: 'incomplete' }
  const command = bytes[12]!
  const length = bytes.readUInt16BE(14)
  if (command >> 4 !== 2 || (command & 15) > 1 || length > PAYLOAD_BYTES_MAX_V2) return { kind: 'invalid' }
  if (bytes.length < 16 + length) return { kind: 'incomplete' }
  if ((command & 15) === 0) return { kind: 'header', source: undefined, bytes: 16 + length }
  const family = bytes[13]! >> 4
  const needed = ADDRESS_BYTES_V2[family]
  if (needed === undefined || length < needed) return { kind: 'invalid' }
  if (family === 1) return { kind: 'header', source: [...bytes.subarray(16, 20)].join('.'), bytes: 16 + length }
  if (family === 2) return { kind: 'header', source: unmapped(readIpv6(bytes.subarray(16, 32))), bytes: 16 + length }
  return { kind: 'header', source: undefined, bytes: 16 + length }
}

function readIpv6(bytes: Buffer): string {
  return Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16)).join(':')
}
