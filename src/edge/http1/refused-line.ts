import { isAuthority } from '../../lib/authority.ts'

/** The log shows less of a path. */
const LINE_BYTES_MAX = 4_096
const LINE =
  /^(?:\r\n){0,4}(?<method>[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}) (?:(?<target>[\u0021\u0022\u0024-\u007e\u0080-\u00ff]+)[ \r](?:HTTP\/1\.(?<minor>\d)\r)?)?/
const SCHEME_AND_AUTHORITY = /^https?:\/\/[^/?#]*/i

/**
 * What a head that is refused asked for, for the log; empty where its request line is none, or has not come. Apart from the reading of heads, which
 * would pay for it with every good one.
 */
export function readRefusedLine(head: Buffer): { method: string; target: string; isHttp11: boolean } {
  const text = head.toString('latin1', 0, LINE_BYTES_MAX) + (head.length > LINE_BYTES_MAX ? ' ' : '') // a longer target is cut
  const { method = '', target = '', minor } = LINE.exec(text)?.groups ?? {}
  const inOriginForm = target.replace(SCHEME_AND_AUTHORITY, '')
  const isShown = method === 'CONNECT' ? isAuthority(target) : /^[/*]/.test(inOriginForm)
  return { method, target: isShown ? inOriginForm : '', isHttp11: minor !== '0' }
}
