import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'

// version (1 byte) | key id (4) | nonce (12) | ciphertext | tag (16); version and key id are authenticated with the associated text.
const FORMAT = 1
const KEY_ID_BYTES = 4
const HEADER_BYTES = 1 + KEY_ID_BYTES
const NONCE_BYTES = 12
const TAG_BYTES = 16
const PART_OF_SECRET = 'part-'
const CIPHER = 'aes-256-gcm'

/** Encrypts small values for storage. What was sealed for one purpose or one associated text does not open for another. */
export type Sealer = {
  seal(plain: Buffer, associated: string): Buffer
  /** Throws an Error that says why when no given secret made this, or when it was changed, moved or cut. */
  open(sealed: Buffer, associated: string): Buffer
}

/** `key` as an object: node takes bytes for one only after an exception, which costs as much as four openings. */
type Key = { id: Buffer; key: KeyObject }

/**
 * The secret's keys for these purposes alone, as one word that takes the secret's place where nothing else is to be opened. Nothing leads back
 * from it to the secret, nor to the key of another purpose.
 */
export function partOfSecret(secret: string, purposes: readonly string[]): string {
  const entries = purposes.map((purpose) => [purpose, deriveKey(secret, purpose)] as const)
  const id = entries[0]![1].id.toString('hex')
  return [PART_OF_SECRET + id, ...entries.map(([purpose, { key }]) => `${purpose}=${key.export().toString('hex')}`)].join(':')
}

export function isPartOfSecret(secret: string): boolean {
  return secret.startsWith(PART_OF_SECRET)
}

/**
 * AES-256-GCM under keys derived for this purpose alone (HKDF-SHA256). `secrets` are newest first: the first seals, all of them open, so a
 * secret is changed by putting the new one in front. Throws when there is none.
 */
export function createSealer(secrets: readonly string[], purpose: string): Sealer {
  if (secrets.length === 0 || secrets.includes('')) throw new Error('sealing needs a secret')
  const keys = secrets.map((secret) => deriveKey(secret, purpose))
  const newest = keys[0]!
  return {
    seal: (plain, associated) => seal(newest, plain, associated),
    open(sealed, associated) {
      const id = readKeyId(sealed, purpose)
      const fitting = keys.filter((key) => key.id.equals(id))
      if (fitting.length === 0)
        throw new Error(`a sealed value (${purpose}) was made with a secret that is not among those given (key ${id.toString('hex')})`)
      for (const { key } of fitting) {
        const plain = tryOpen(key, sealed, associated)
        if (plain) return plain
      }
      throw new Error(`a sealed value (${purpose}) is damaged, or was sealed for something other than "${associated}"`)
    },
  }
}

/** What a sealed value names the secret by that made it: the four bytes behind its first. Tells nothing about the secret. */
export function keyIdOf(secret: string): Buffer {
  return derive(secret, 'namesake key id', KEY_ID_BYTES)
}

function seal({ id, key }: Key, plain: Buffer, associated: string): Buffer {
  const header = Buffer.concat([Buffer.of(FORMAT), id])
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(associatedData(header, associated))
  return Buffer.concat([header, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

function tryOpen(key: KeyObject, sealed: Buffer, associated: string): Buffer | undefined {
  const header = sealed.subarray(0, HEADER_BYTES)
  const nonce = sealed.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES)
  const text = sealed.subarray(HEADER_BYTES + NONCE_BYTES, -TAG_BYTES)
  const cipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(associatedData(header, associated)).setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([cipher.update(text), cipher.final()])
  } catch {
    return undefined
  }
}

function readKeyId(sealed: Buffer, purpose: string): Buffer {
  if (sealed.length < HEADER_BYTES + NONCE_BYTES + TAG_BYTES) throw new Error(`a sealed value (${purpose}) is cut short`)
  if (sealed[0] !== FORMAT)
    throw new Error(`a sealed value (${purpose}) has the unknown format ${sealed[0]}: it was made by another release`)
  return sealed.subarray(1, HEADER_BYTES)
}

function associatedData(header: Buffer, associated: string): Buffer {
  return Buffer.concat([header, Buffer.from(associated)])
}

function deriveKey(secret: string, purpose: string): Key {
  if (isPartOfSecret(secret)) return readPart(secret, purpose)
  return { id: keyIdOf(secret), key: createSecretKey(derive(secret, `namesake seal ${purpose}`, 32)) }
}

function readPart(part: string, purpose: string): Key {
  const [id = '', ...entries] = part.slice(PART_OF_SECRET.length).split(':')
  const entry = entries.find((one) => one.startsWith(`${purpose}=`))
  if (!entry) throw new Error(`the part of a secret that was given holds no key for ${purpose}`)
  return { id: Buffer.from(id, 'hex'), key: createSecretKey(entry.slice(purpose.length + 1), 'hex') }
}

function derive(secret: string, info: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', info, bytes))
}
