// `npm run bench -- NAME [options]`: runs one measurement of bench/, or lists them.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { purposeOf } from './results.ts'

const FOLDER = fileURLToPath(new URL('../', import.meta.url))
const [name, ...options] = process.argv.slice(2)
const names = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length))
  .sort()

if (name !== undefined && names.includes(name)) {
  const flags = ['--disable-warning=ExperimentalWarning']
  process.exit(spawnSync(process.execPath, [...flags, `${FOLDER}${name}.ts`, ...options], { stdio: 'inherit' }).status ?? 1)
}
const isMistake = name !== undefined && name !== '--help'
if (isMistake) console.error(`There is no measurement called ${name}.\n`)
console.log(`npm run bench -- NAME [options]
npm run bench -- NAME --help

Measures, prints a table, and replaces the measurement's section of bench/RESULTS.md unless told not to (--no-save). Exits with 1 when a gate is missed.
`)
for (const known of names) console.log(`  ${known.padEnd(14)} ${purposeOf(known)}`)
process.exit(isMistake ? 1 : 0)
