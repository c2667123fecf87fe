import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'

/** Signs what a link carries, so that whoever reads the database still cannot open one. */
export type LinkSigner = {
  tokenOf(linkId: string): string
  /** The link's id; undefined for anything that was not signed here for this purpose. */
  idOf(token: string): string | undefined
}

const TOKEN = /^[A-Za-z0-9_-]{64}$/
const ID_BYTES = 16

/** `secrets` newest first: the first signs, each of them is believed. A link of one purpose opens nothing of another. */
export function createLinkSigner(secrets: readonly string[], purpose: 'sign-in' | 'connect'): LinkSigner {
  const keys = secrets.map((secret) => createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', `namesake ${purpose} link`, 32))))
  const sign = (key: KeyObject, id: Buffer) => createHmac('sha256', key).update(id).digest()
  return {
    tokenOf(linkId) {
      const id = Buffer.from(linkId.replaceAll('-', ''), 'hex')
      return Buffer.concat([id, sign(keys[0]!, id)]).toString('base64url')
    },
    idOf(token) {
      if (!TOKEN.test(token)) return undefined
      const bytes = Buffer.from(token, 'base64url')
      const id = bytes.subarray(0, ID_BYTES)
      return keys.some((key) => timingSafeEqual(sign(key, id), bytes.subarray(ID_BYTES))) ? id.toString('hex') : undefined
    },
  }
}
