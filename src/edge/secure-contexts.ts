import { constants, X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Hostname } from '../hostname.ts'
import { ExactLru } from '../lib/exact-lru.ts'
import { Lru } from '../lib/lru.ts'
import { type CertificateText, sizeOf } from './certificate-text.ts'
import { SpareContexts } from './spare-contexts.ts'

const IS_BUN = process.versions.bun !== undefined
/** What a context with its certificate takes outside of JavaScript, and what each one behind that in the chain adds to it. */
const [CONTEXT_BYTES, ISSUER_BYTES] = IS_BUN ? [7_000, 3_500] : [27_000, 4_700]
/** For each character of a certificate that is longer than others: OpenSSL unfolds its extensions at the first handshake, 15,000 short names to 1.9 MB. */
const EXCESS_BYTES = 32
/** Names that come once share a few contexts, which stay in the processor's caches. */
const PASSING_MAX = 32
/** What each of them may take, of all together: as many as that of ordinary certificates, fewer of others. */
const PASSING_BYTES = 50_000
const CAME_LATELY_MAX = 16_000 // some 100 bytes each
/** A name takes the room of one that was away for more than so many times as long as itself. With 1, names alike would take it from each other for ever. */
const AWAY_LONGER = 4
/** Node quotes what no hostname has, so that nobody takes its parts for names. */
const QUOTED = /"(?:[^"\\]|\\.)*"/g
const AES_128 = 'TLS_AES_128_GCM_SHA256'
/** Of TLS 1.2 those with forward secrecy and authenticated encryption (RFC 9325 §4.2), which are what HTTP/2 allows (RFC 9113 §9.2.2). */
const CIPHERS = [
  // First as browsers have it: SHA-256, which processors know, for the dozens of key derivations of a handshake, instead of SHA-384.
  ...[AES_128, 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].flatMap((cipher) => [`ECDHE-ECDSA-${cipher}`, `ECDHE-RSA-${cipher}`]),
]

/** What all TLS of visitors has in common, whatever its certificate. */
export const TLS_SETTINGS = {
  minVersion: 'TLSv1.2',
  ciphers: CIPHERS.join(':'),
  // A visitor who begins TLS 1.2 anew on a connection would make us pay for one handshake after another; HTTP/2 forbids it (RFC 9113 §9.2.1).
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  sessionTimeout: 24 * 60 * 60,
  // A session resumes only where this is the same. Node's own is made from the command line, which differs by where we are installed.
  sessionIdContext: 'namesake',
} as const

/**
 * Of a name's context node takes certificate, key and chain alone, and all else of its server's: a short list of ciphers makes it smaller by an eighth
 * and cheaper to make. Bun takes the ciphers, too.
 */
const NAME_SETTINGS = IS_BUN ? TLS_SETTINGS : { ciphers: `${AES_128}:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256` }

/**
 * A certificate that is ready for handshakes. Whoever shows it holds it until the handshake has ended: one that left the memory is freed
 * with its last holder. Left to the garbage collector, which sees none of its memory, thousands of them would wait for a collection.
 */
export class Certified {
  readonly #context: SecureContext
  readonly #text: CertificateText
  readonly #free: () => void
  /** What it takes outside of JavaScript. */
  readonly bytes: number
  /** The number of the visit that asked for it last. */
  lastVisit = 0
  #names: string | undefined
  #holders = 0
  #isKept = true

  constructor(context: SecureContext, text: CertificateText, free: () => void) {
    this.#context = context
    this.#text = text
    this.#free = free
    const { issuers, excess } = sizeOf(text)
    this.bytes = CONTEXT_BYTES + issuers * ISSUER_BYTES + excess * EXCESS_BYTES
  }

  /** Undefined once it is freed: node would not survive the use of it. */
  get context(): SecureContext | undefined {
    return this.#isKept || this.#holders > 0 ? this.#context : undefined
  }

  shows({ leafPem, keyPem }: CertificateText): boolean {
    return leafPem === this.#text.leafPem && keyPem === this.#text.keyPem
  }

  /** Whether the certificate is valid for the hostname. */
  isFor(hostname: Hostname): boolean {
    this.#names ??= namesOf(this.#text.leafPem)
    return this.#names.includes(listed(hostname)) || this.#names.includes(listed(`*${hostname.slice(hostname.indexOf('.'))}`))
  }

  /**
   * Node keeps a copy of the certificate and one of its issuer beside those that handshakes show, for whoever asks for them by `getCertificate`, which
   * nobody does: a quarter of a context. It lets go of them before it reads the next certificate, here a text that is none.
   */
  dropCopies(): void {
    try {
      this.#context.context.setCert?.('')
    } catch {
      // It says that this is no certificate. What handshakes show stays as it was.
    }
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
 * The certificates that are ready for handshakes, made so when one first needs it, which costs a third of a handshake: as many as
 * `bytesMax` has room for at the moment. A name that comes a second time gets room. Where there is none left it may take that of the name that was away
 * for longest, if it comes much more often. Who comes once, as each of a million names or a scanner's, gets none. Never is there one for each registered
 * hostname.
 */
export function createSecureContexts(bytesMax: () => number, passingMax = PASSING_MAX) {
  const onLeave = (certified: Certified) => certified.leave()
  const staying = new ExactLru<string, Certified>({ max: bytesMax, weightOf: ({ bytes }) => bytes, onLeave })
  const passing = new ExactLru<string, Certified>({
    max: () => passingMax * PASSING_BYTES,
    weightOf: ({ bytes }) => Math.max(bytes, PASSING_BYTES),
    onLeave,
  })
  const cameLately = new Lru<string, number>(CAME_LATELY_MAX)
  const spares = new SpareContexts()
  let made = 0
  let visits = 0

  const ready = (text: CertificateText): Certified => {
    const context = spares.take(text) ?? contextOf(text)
    return new Certified(context, text, () => spares.keep(context, text))
  }

  const getsRoom = (certified: Certified, formerVisit: number | undefined): boolean => {
    // Bun cannot give a context another certificate, so there a passing one costs as much as one that stays.
    if (staying.hasRoomFor(certified)) return formerVisit !== undefined || IS_BUN
    const { oldest } = staying
    if (formerVisit === undefined || oldest === undefined) return false
    return (visits - formerVisit) * AWAY_LONGER < visits - oldest.lastVisit
  }

  return {
    /** `id` changes whenever the certificate does, but for a database that was promoted and says a version a second time. */
    certify({ id, ...text }: CertificateText & { id: string }): Certified {
      visits += 1
      const kept = staying.get(id)
      const known = kept ?? passing.get(id)
      if (known?.shows(text)) {
        known.lastVisit = visits
        if (!kept) cameLately.set(id, visits)
        return known
      }
      if (known) for (const memory of [staying, passing]) memory.delete(id)
      const certified = ready(text)
      certified.lastVisit = visits
      made += 1
      if (getsRoom(certified, cameLately.get(id))) {
        certified.dropCopies()
        staying.set(id, certified)
      } else {
        cameLately.set(id, visits)
        passing.set(id, certified)
        staying.shrink()
      }
      return certified
    },
    counts: () => ({ kept: staying.size + passing.size, made }),
  }
}

function contextOf({ leafPem, issuersPem, keyPem }: CertificateText): SecureContext {
  return createSecureContext({ ...NAME_SETTINGS, cert: leafPem + issuersPem, key: keyPem })
}

/** All hostnames of a certificate in one text, each as `listed`; one with a star is for all that have one label more (RFC 6125 §6.4.3). */
function namesOf(leafPem: string): string {
  const names = new X509Certificate(leafPem).subjectAltName ?? ''
  return `, ${names.replace(QUOTED, '').toLowerCase()}, `
}

function listed(name: string): string {
  return `, dns:${name}, `
}
