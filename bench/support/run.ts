// `npm run bench -- NAME [options]`: runs one measurement of bench/, or lists them.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../', import.meta.url))
const [name, ...options] = process.argv.slice(2)
const names = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length))
  .sort()

if (name !== undefined && names.includes(name)) {
  process.exit(spawnSync(process.execPath, [`${FOLDER}${name}.ts`, ...options], { stdio: 'inherit' }).status ?? 1)
}
if (name !== undefined) console.error(`There is no measurement called ${name}.`)
console.log('npm run bench -- NAME runs one of these, on the processors of this machine:')
for (const known of names) console.log(`  ${known.padEnd(10)} ${purposeOf(known)}`)
process.exit(name === undefined ? 0 : 1)

/** A measurement's first comment. */
function purposeOf(known: string): string {
  return /^\/\/ (.*)/m.exec(readFileSync(`${FOLDER}${known}.ts`, 'utf8'))?.[1] ?? ''
}
