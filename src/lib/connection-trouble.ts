const BROKEN_OFF = 'the connection was broken off'
const NO_WAY = 'there is no way to it from here'
const FIREWALL = 'a firewall or a permission on this side does not let us there'
/** What people read in the place of the system's codes. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing there accepts connections',
  ECONNRESET: BROKEN_OFF,
  ECONNABORTED: BROKEN_OFF,
  EPIPE: BROKEN_OFF,
  EHOSTUNREACH: NO_WAY,
  EHOSTDOWN: NO_WAY,
  ENETUNREACH: NO_WAY,
  ENETDOWN: NO_WAY,
  EADDRNOTAVAIL: NO_WAY,
  EAFNOSUPPORT: NO_WAY,
  EACCES: FIREWALL,
  EPERM: FIREWALL,
  ETIMEDOUT: 'no answer came',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved at the moment',
}
// What is wrong with a certificate, Node says in words of its own.
const TLS_CODE = /^(EPROTO$|ERR_SSL_|ERR_TLS_(?!CERT_))/

/** Why a connection did not come about, or broke off, in words that go behind a colon; undefined where the code is of something else. */
export function connectionTrouble(code: string): string | undefined {
  return TLS_CODE.test(code) ? 'no secure connection came about' : REASONS[code]
}

/** The same of an error, with its code in brackets for whoever looks into it; `otherwise` is said where that has no words. */
export function explainConnection({ code = '', message }: NodeJS.ErrnoException, otherwise = message): string {
  const reason = connectionTrouble(code)
  return reason === undefined ? otherwise : `${reason} (${code})`
}
