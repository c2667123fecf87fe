import { fractionOf } from '../../src/certs/certificate.ts'
import { type Hostname, parseHostname } from '../../src/hostname.ts'

/** Why a hostname is in the simulation: `steady` growth, many names under one registered domain, everything at once, or those beside it. */
export type Group = 'steady' | 'crowded' | 'burst' | 'beside the burst'

export type PlannedClaim = { hostname: Hostname; project: number; group: Group; atMs: number }

export type PopulationOptions = {
  certificates: number
  /** Names under one registered domain, a domain an entry. */
  crowded: readonly number[]
  /** So many hostnames of project 0, claimed in one moment of that day. */
  burst: { day: number; certificates: number }
  /** Of the certificates. */
  sixDayShare: number
  fortyFiveDayShare: number
}

const DAY_MS = 86_400_000
const STEADY_DAYS = 30
const OTHER_PROJECTS = 8
const BESIDE_SHARE = 0.06 // of the certificates; half in the moment of the burst, half spread over the three days after it
const BESIDE_DAYS = 3

export const PROJECTS = 1 + OTHER_PROJECTS

/** Who claims what, and when, in order of time. */
export function planClaims({ certificates, crowded, burst }: PopulationOptions): PlannedClaim[] {
  const beside = Math.round(certificates * BESIDE_SHARE)
  const steady = certificates - burst.certificates - beside - crowded.reduce((sum, names) => sum + names, 0)
  const burstMs = burst.day * DAY_MS
  const claims: PlannedClaim[] = []
  const add = (group: Group, name: string, project: number, atMs: number) =>
    claims.push({ group, hostname: parseHostname(name), project, atMs })
  for (let i = 0; i < steady; i++) add('steady', `www.steady${i}.com`, other(i), (i / steady) * STEADY_DAYS * DAY_MS)
  crowded.forEach((names, at) => {
    for (let i = 0; i < names; i++) add('crowded', `shop${i}.crowded${at}.com`, other(at), DAY_MS)
  })
  for (let i = 0; i < burst.certificates; i++) add('burst', `www.burst${i}.com`, 0, burstMs)
  for (let i = 0; i < beside; i++) {
    const late = i < beside / 2 ? 0 : ((i - beside / 2) / (beside / 2)) * BESIDE_DAYS * DAY_MS
    add('beside the burst', `www.beside${i}.com`, other(i), burstMs + late)
  }
  return claims.sort((a, b) => a.atMs - b.atMs)
}

/** Crowded domains stay at 90 days: with less, a limit of 50 a week could not carry 400 names. */
export function createLifetimes({ sixDayShare, fortyFiveDayShare }: PopulationOptions): (hostname: Hostname) => number {
  return (hostname) => {
    const place = fractionOf(hostname)
    if (hostname.includes('crowded')) return 90
    if (place < sixDayShare) return 6
    return place < sixDayShare + fortyFiveDayShare ? 45 : 90
  }
}

function other(i: number): number {
  return 1 + (i % OTHER_PROJECTS)
}
