import { cursorAt, routeOf, shop, snapshotOf } from './copy.fixture.ts'
import { openCopyWriter } from './copy-writer.ts'
import type { RouteRow } from './rows.ts'

// Run as a process of its own: writes until it is killed. Every batch gives all hostnames the version that its cursor names.
const HOSTNAMES = 50
const [path, task] = process.argv.slice(2) as [string, 'apply' | 'replace']
const writer = openCopyWriter(path)
const rowsOf = (version: number): RouteRow[] => Array.from({ length: HOSTNAMES }, (_, number) => routeOf(shop(number), { version }))

if (!writer.state().cursor) await writer.replaceAll(snapshotOf(rowsOf(1)))
process.stdout.write('ready\n')

async function* endlessPages(): AsyncIterable<RouteRow[]> {
  for (let number = 1_000; ; number += 1) {
    yield [routeOf(shop(number), { version: 9 })]
    await new Promise(setImmediate)
  }
}

if (task === 'replace') await writer.replaceAll(snapshotOf([], { routes: endlessPages() }))
for (let version = Number(writer.state().cursor!.seq) + 1; ; version += 1) {
  writer.apply({ routes: rowsOf(version), cursor: cursorAt(version) })
  process.stdout.write(`${version}\n`)
  if (version % 20 === 0) await new Promise(setImmediate)
}
