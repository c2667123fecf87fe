import { statSync } from 'node:fs'
import { Counter, Gauge, type Registry } from 'prom-client'
import { currentGeneration } from '../replica/copy-files.ts'
import type { CopyWriter } from '../replica/copy-writer.ts'
import type { Follower } from '../replica/follower.ts'

const SOON_MS = 3 * 86_400_000

/** What the copy holds now, for `/ready` and the metrics. `builtAtMs` is when its file was made; it has been followed since. */
export function copyFacts(writer: CopyWriter, path: string, nowMs: number) {
  const totals = writer.totals(nowMs + SOON_MS)
  const file = currentGeneration(path)
  const builtAtMs = file && statSync(file, { throwIfNoEntry: false })?.birthtimeMs
  return {
    hostnamesMax: writer.hostnamesMax,
    routes: totals?.routes ?? 0,
    certificates: totals?.certificates ?? 0,
    certificatesEndingSoon: totals?.ending ?? 0,
    ageS: builtAtMs ? Math.max(0, Math.round((nowMs - builtAtMs) / 1_000)) : undefined,
  }
}

/** Puts how stale the copy is, what it holds, and how often it had to be built anew into the registry. */
export function measureCopy(metrics: Registry, parts: { follower: Follower; writer: CopyWriter; path: string }): void {
  const { follower, writer, path } = parts
  const facts = () => copyFacts(writer, path, Date.now())
  const gauge = (about: { name: string; help: string }, read: () => number | undefined) =>
    new Gauge({
      ...about,
      aggregator: 'max',
      registers: [metrics],
      collect() {
        const value = read()
        if (value !== undefined) this.set(value)
      },
    })
  const counter = (about: { name: string; help: string }, read: () => number) =>
    new Counter({
      ...about,
      registers: [metrics],
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  const lag = { name: 'namesake_feed_lag_seconds', help: 'Time since the local copy was last known to hold everything' }
  const age = { name: 'namesake_copy_age_seconds', help: 'Time since the local copy was built anew; it has been followed since' }
  const complete = { name: 'namesake_copy_complete', help: '1 where the local copy holds every hostname, 0 where it is bounded or missing' }
  const routes = { name: 'namesake_copy_routes', help: 'Hostnames whose route the local copy holds' }
  const certificates = {
    name: 'namesake_copy_certificates',
    help: 'Hostnames whose certificate the local copy holds',
  }
  const ending = {
    name: 'namesake_copy_certificates_ending',
    help: 'Certificates in the local copy that end within three days, or have ended',
  }
  const rebuilds = { name: 'namesake_copy_rebuilds_total', help: 'How often the local copy was built anew' }
  const damages = { name: 'namesake_copy_damaged_total', help: 'How often the local copy was found damaged' }
  gauge(lag, () => follower.status().lagMs / 1_000)
  gauge(age, () => facts().ageS)
  gauge(complete, () => Number(follower.status().complete))
  gauge(routes, () => facts().routes)
  gauge(certificates, () => facts().certificates)
  gauge(ending, () => facts().certificatesEndingSoon)
  counter(rebuilds, () => follower.report().snapshots)
  counter(damages, () => follower.report().damages)
}
