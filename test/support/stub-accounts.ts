import { createHmac, createPublicKey, type KeyObject, timingSafeEqual, verify } from 'node:crypto'
import { thumbprintOf } from '../../src/certs/keys.ts'

export type StubAccount = { url: string; key: KeyObject; thumbprint: string }

type Jws = { protected: string; payload: string; signature: string }

/** A signed request: whose it is and what it says, or the ACME error that it deserves. */
export type Signed =
  | { kind: 'signed'; account: StubAccount; payload: Record<string, unknown> | undefined }
  | { kind: 'refused'; name: string; detail: string }

export type StubAccounts = ReturnType<typeof createStubAccounts>

/** The stub's accounts: checks signatures, nonces (through `takeNonce`) and external account bindings (`eab`: key id → base64url HMAC key). */
export function createStubAccounts(options: {
  urlOf(thumbprint: string): string
  takeNonce(nonce: string): boolean
  eab: Record<string, string> | undefined
}) {
  const { urlOf, takeNonce, eab } = options
  const accounts = new Map<string, StubAccount>()
  const refused = (name: string, detail: string) => ({ kind: 'refused' as const, name, detail })

  const accountOf = (jwk: object): StubAccount => {
    const key = createPublicKey({ key: jwk as never, format: 'jwk' })
    const thumbprint = thumbprintOf(key.export({ type: 'spki', format: 'pem' }) as string)
    return { url: urlOf(thumbprint), key, thumbprint }
  }

  return {
    /** `path` is what was asked, `isAccount` whether that is newAccount, where the bare key signs. */
    read(text: string, { path, isAccount }: { path: string; isAccount: boolean }): Signed {
      const jws = JSON.parse(text) as Jws
      const header = decode(jws.protected) as { jwk?: object; kid?: string; nonce: string; url: string }
      const account = header.kid === undefined ? accountOf(header.jwk!) : accounts.get(header.kid)
      if (!account) return refused('accountDoesNotExist', 'no such account')
      if ((header.jwk !== undefined) !== isAccount) return refused('malformed', 'jwk and kid are used where the other belongs')
      if (!takeNonce(header.nonce)) return refused('badNonce', 'unknown nonce')
      if (new URL(header.url).pathname !== path) return refused('unauthorized', 'signed for another URL')
      const signature = { key: account.key, dsaEncoding: 'ieee-p1363' as const }
      const signedText = Buffer.from(`${jws.protected}.${jws.payload}`)
      if (!verify('sha256', signedText, signature, Buffer.from(jws.signature, 'base64url'))) return refused('malformed', 'bad signature')
      const payload = jws.payload === '' ? undefined : (decode(jws.payload) as Record<string, unknown>)
      return { kind: 'signed', account, payload }
    },
    /**
     * Keeps a new account; says why not where its binding to a customer of the authority is missing or wrong (RFC 8555 §7.3.4). One that is bound
     * is not bound again, as at Sectigo.
     */
    register(account: StubAccount, payload: Record<string, unknown> = {}): { kind: 'new' | 'known' } | ReturnType<typeof refused> {
      if (accounts.has(account.url)) {
        if (!payload.externalAccountBinding) return { kind: 'known' }
        return refused('malformed', '[External Account Binding] The account is not awaiting external account binding')
      }
      if (payload.onlyReturnExisting) return refused('accountDoesNotExist', 'no account has this key')
      const fault = eab && faultOfBinding(payload.externalAccountBinding as Jws | undefined, account, eab)
      if (fault) return fault === 'missing' ? refused('externalAccountRequired', 'a binding is required') : refused('unauthorized', fault)
      accounts.set(account.url, account)
      return { kind: 'new' }
    },
  }
}

function faultOfBinding(binding: Jws | undefined, account: StubAccount, eab: Record<string, string>): string | undefined {
  if (!binding) return 'missing'
  const { alg, kid = '', url } = decode(binding.protected) as { alg?: string; kid?: string; url?: string }
  const hmacKey = eab[kid]
  if (hmacKey === undefined) return `nobody is known as ${kid}`
  if (alg !== 'HS256' || !URL.canParse(url ?? '') || new URL(url!).host !== new URL(account.url).host)
    return 'the binding is for something else'
  const key = createPublicKey({ key: decode(binding.payload) as never, format: 'jwk' })
  if (!key.equals(account.key)) return 'the binding is for another key'
  const expected = createHmac('sha256', Buffer.from(hmacKey, 'base64url')).update(`${binding.protected}.${binding.payload}`).digest()
  const found = Buffer.from(binding.signature, 'base64url')
  return found.length === expected.length && timingSafeEqual(found, expected) ? undefined : 'the binding has a wrong signature'
}

function decode(text: string): object {
  return JSON.parse(Buffer.from(text, 'base64url').toString())
}
