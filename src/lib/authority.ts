const REG_NAME = /^(?:[\w.~!$&'()*+,;=-]|%[0-9a-f]{2})*(?::\d*)?$/i
const IP_LITERAL = /^\[(?:[0-9a-f:.]+|v[0-9a-f]+\.[\w.~!$&'()*+,;=:-]+)\](?::\d*)?$/i

/** Whether the text is a host with or without a port (RFC 9110 §7.2, RFC 3986 §3.2): no user information, no list, nothing beyond ASCII. */
export function isAuthority(text: string): boolean {
  return REG_NAME.test(text) || IP_LITERAL.test(text)
}
