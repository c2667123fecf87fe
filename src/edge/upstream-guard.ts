import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type Hostname, readHostname } from '../hostname.ts'
import { createAddressSet, isSpecialAddress } from '../lib/addresses.ts'
import { type Upstream, UpstreamFailure } from './upstream.ts'
import { createUpstreamAddresses } from './upstream-addresses.ts'

export type GuardRules = {
  /** Upstreams may live on private, loopback and other special addresses. */
  allowPrivate: boolean
  /** The addresses that customers point their DNS at. */
  ownAddresses: readonly string[]
  /** The ports that the edge listens on; with `allowPrivate`, our own addresses are refused at these alone. */
  ownPorts: readonly number[]
  /** What is said further of a refused address, to whoever may allow it. */
  hint?: string
  /** The addresses of this machine, in whatever form. */
  machineAddresses?(): readonly string[]
  /** Whether the hostname leads to this edge, where an upstream would be a loop. */
  isServedHere(hostname: Hostname): boolean | Promise<boolean>
}

const READ_AGAIN_MS = 10_000

export type UpstreamGuard = { addressesOf(upstream: Upstream): Promise<string[]> }

/**
 * Resolves an upstream to the addresses that may be connected to, in the resolver's order: judged at every connect, so a name that changes
 * its mind after it was saved gains nothing. Rejects with UpstreamFailure `dns` or `forbidden-address`.
 */
export function createUpstreamGuard(rules: GuardRules): UpstreamGuard {
  const own = createAddressSet(rules.ownAddresses)
  const addressesOf = createUpstreamAddresses(resolve)

  const isOfMachine = memberOf(rules.machineAddresses ?? interfaceAddresses)
  const isForbidden = (address: string, port: number) => {
    // What listens on all addresses of this machine is behind a firewall for others, and would not be for an edge that connects to itself.
    if (!rules.allowPrivate) return isSpecialAddress(address) || own.has(address) || isOfMachine(address)
    return own.has(address) && rules.ownPorts.includes(port)
  }

  const complaint = (host: string, addresses: string[]) => {
    if (rules.allowPrivate || !addresses.every(isSpecialAddress))
      return `${host} leads to the edge itself: give the address of your application`
    return `${host} ${isIP(host) ? 'is' : 'leads to'} no public address, and an upstream needs one`
  }

  return {
    async addressesOf({ host, port, isOurs, owner }) {
      const reading = readHostname(host)
      if (!isOurs && reading.kind === 'hostname' && (await rules.isServedHere(reading.hostname))) {
        throw new UpstreamFailure('forbidden-address', `${host} is itself served by this edge`)
      }
      const addresses = isIP(host) ? [host] : await addressesOf(host, owner)
      if (isOurs) return addresses
      const allowed = addresses.filter((address) => !isForbidden(address, port))
      if (allowed.length === 0) throw new UpstreamFailure('forbidden-address', `${complaint(host, addresses)}${rules.hint ?? ''}`)
      return allowed
    },
  }
}

/** They change while the edge runs, and the system is asked now and then. */
function memberOf(read: () => readonly string[]): (address: string) => boolean {
  let known = createAddressSet([])
  let readAtMs = Number.NEGATIVE_INFINITY
  return (address) => {
    const nowMs = performance.now()
    if (nowMs - readAtMs >= READ_AGAIN_MS) {
      known = createAddressSet(read())
      readAtMs = nowMs
    }
    return known.has(address)
  }
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address))
}

async function resolve(host: string): Promise<string[]> {
  try {
    const found = await lookup(host, { all: true, verbatim: true })
    if (found.length > 0) return found.map(({ address }) => address)
  } catch (error) {
    throw new UpstreamFailure('dns', `${host} cannot be resolved`, { cause: error })
  }
  throw new UpstreamFailure('dns', `${host} has no address`)
}
