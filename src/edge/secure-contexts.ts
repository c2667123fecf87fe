import { X509Certificate } from 'node:crypto'
import { createSecureContext, DEFAULT_CIPHERS, type SecureContext } from 'node:tls'
import type { Hostname } from '../hostname.ts'
import { ExactLru } from '../lib/exact-lru.ts'
import { close, SpareContexts } from './spare-contexts.ts'

/** Some 45 KB each outside of JavaScript: 115 MB when all are there. */
const CONTEXTS_MAX = 2_500
const AES_128 = 'TLS_AES_128_GCM_SHA256'

/** What all TLS of visitors has in common, whatever its certificate. */
export const TLS_SETTINGS = {
  minVersion: 'TLSv1.2',
  // First as browsers have it: SHA-256, which processors know, for the dozens of key derivations of a handshake, instead of SHA-384.
  ciphers: [AES_128, ...DEFAULT_CIPHERS.split(':').filter((name) => name !== AES_128)].join(':'),
  sessionTimeout: 24 * 60 * 60,
  // A session resumes only where this is the same. Node's own is made from the command line, which differs by where we are installed.
  sessionIdContext: 'namesake',
} as const

/**
 * A certificate that is ready for handshakes. Whoever shows it on a connection holds it until that has closed: one that left the memory is freed
 * with its last holder. Left to the garbage collector, which sees none of its memory, thousands of them would wait for a collection.
 */
export class Certified {
  readonly #context: SecureContext
  readonly #chainPem: string
  readonly #free: () => void
  #names: readonly string[] | undefined
  #holders = 0
  #isKept = true

  constructor(context: SecureContext, chainPem: string, free: () => void) {
    this.#context = context
    this.#chainPem = chainPem
    this.#free = free
  }

  /** Undefined once it is freed: node would not survive the use of it. */
  get context(): SecureContext | undefined {
    return this.#isKept || this.#holders > 0 ? this.#context : undefined
  }

  /** Whether the certificate is valid for the hostname. */
  isFor(hostname: Hostname): boolean {
    this.#names ??= namesOf(this.#chainPem)
    return this.#names.some((name) => matches(name, hostname))
  }

  hold(): void {
    this.#holders += 1
  }

  release(): void {
    this.#holders -= 1
    this.#freeWhenUnused()
  }

  /** The memory has let go of it. */
  leave(): void {
    this.#isKept = false
    this.#freeWhenUnused()
  }

  #freeWhenUnused(): void {
    if (!this.#isKept && this.#holders === 0) this.#free()
  }
}

/**
 * The certificates that are ready for handshakes, made so when one first needs it, since that costs as much as half a handshake: a bounded memory,
 * whose least recently used one leaves. Never is there one for each registered hostname.
 */
export function createSecureContexts(firstKeys: Buffer, max = CONTEXTS_MAX) {
  const byCertificate = new ExactLru<string, Certified>(max, (certified) => certified.leave())
  let ticketKeys = firstKeys
  /** Of the current ticket keys. */
  let spares = new SpareContexts()
  let made = 0

  const ready = ({ chainPem, keyPem }: { chainPem: string; keyPem: string }): Certified => {
    const fitting = spares
    const context = fitting.take(chainPem, keyPem) ?? createSecureContext({ ...TLS_SETTINGS, ticketKeys, cert: chainPem, key: keyPem })
    return new Certified(context, chainPem, () => {
      if (fitting === spares) spares.keep(context, chainPem, keyPem)
      else close(context)
    })
  }

  return {
    /** `id` changes whenever the certificate does. */
    certify({ id, ...certificate }: { id: string; chainPem: string; keyPem: string }): Certified {
      const known = byCertificate.get(id)
      if (known) return known
      const certified = ready(certificate)
      made += 1
      byCertificate.set(id, certified)
      return certified
    },
    /** From now on, 48 bytes. */
    setTicketKeys(keys: Buffer) {
      ticketKeys = keys
      const former = spares
      spares = new SpareContexts()
      former.close()
      byCertificate.clear() // they hold the old ones
    },
    counts: () => ({ kept: byCertificate.size, made }),
  }
}

function namesOf(chainPem: string): readonly string[] {
  return (new X509Certificate(chainPem).subjectAltName ?? '')
    .split(', ')
    .filter((name) => name.startsWith('DNS:'))
    .map((name) => name.slice(4).toLowerCase())
}

function matches(name: string, hostname: string): boolean {
  return name === hostname || (name.startsWith('*.') && hostname.slice(hostname.indexOf('.') + 1) === name.slice(2))
}
