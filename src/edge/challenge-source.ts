import type { Hostname } from '../hostname.ts'

/** What an authority is shown that validates by TLS-ALPN-01 (RFC 8737); both PEM. */
export type ChallengeCertificate = { certPem: string; keyPem: string }

/** The TLS-ALPN-01 challenges that authorities may come for. */
export type ChallengeSource = {
  /** Whether there is any at all. */
  arePending(): boolean
  /** Of several challenges for one hostname the newest is answered. */
  challengeFor(hostname: Hostname): Promise<ChallengeCertificate> | undefined
}

export type ChallengeSourceParts = {
  /** All pending challenges as the local copy holds them, the newest of a hostname last; undefined while it cannot be read. */
  readAll(): readonly { hostname: Hostname; keyAuthorization: string }[] | undefined
  certify(hostname: Hostname, keyAuthorization: string): Promise<ChallengeCertificate>
}

type Pending = { keyAuthorization: string; certificate?: Promise<ChallengeCertificate> }

/**
 * The pending challenges of this machine, kept in memory from the start. A key and a certificate are made when somebody first comes for the
 * challenge, and kept as long as it is pending. `changed` is to be called at every news of challenges, and whenever memory may be stale. What cannot be
 * read then is looked at again with the next handshake.
 */
export function createChallengeSource(parts: ChallengeSourceParts): ChallengeSource & { changed(): void } {
  let pending = new Map<Hostname, Pending>()
  let isStale = false
  const changed = () => {
    const rows = parts.readAll()
    isStale = rows === undefined
    if (!rows) return
    const now = new Map<Hostname, Pending>()
    for (const { hostname, keyAuthorization } of rows) now.set(hostname, { keyAuthorization })
    for (const [hostname, known] of pending) {
      if (now.get(hostname)?.keyAuthorization === known.keyAuthorization) now.set(hostname, known)
    }
    pending = now
  }
  changed()
  return {
    arePending() {
      if (isStale) changed()
      return pending.size > 0
    },
    challengeFor(hostname) {
      const challenge = pending.get(hostname)
      if (!challenge) return undefined
      challenge.certificate ??= parts.certify(hostname, challenge.keyAuthorization).catch((error) => {
        delete challenge.certificate // the next one may be made
        throw error
      })
      return challenge.certificate
    },
    changed,
  }
}
