// `npm test [-- what vitest takes]`: installs what the tests run beside Namesake, checks the code, runs the tests, ends with one line of counts.
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseCLI, startVitest, type Vitest } from 'vitest/node'
import { installMissing, PACKAGES, systemPath } from './install.ts'

type Counts = { passed: number; failed: number; skipped: number }

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))
process.env.PATH = systemPath(process.env.PATH)
installOrExit()
checkOrExit()
const counts = await runTests(process.argv.slice(2))
console.log(`${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`)
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1)

function installOrExit(): void {
  try {
    installMissing(PACKAGES)
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}

function checkOrExit(): void {
  const { status } = spawnSync('npm', ['run', '--silent', 'check'], { stdio: 'inherit' })
  if (status === 0) return
  console.error('npm run check failed: no test was run')
  process.exit(1)
}

async function runTests(args: readonly string[]): Promise<Counts> {
  const { filter, options } = parseCLI(['vitest', 'run', ...args])
  const vitest = await startVitest('test', filter, { ...options, watch: false })
  const counts = count(vitest)
  await vitest.close()
  return counts
}

/** A file that could not be loaded and an error outside any test count as failures: nothing that went wrong may look like success. */
function count(vitest: Vitest): Counts {
  const counts = { passed: 0, failed: vitest.state.getUnhandledErrors().length, skipped: 0 }
  for (const testModule of vitest.state.getTestModules()) {
    const states = [...testModule.children.allTests()].map((test) => test.result().state)
    for (const state of states) counts[state === 'pending' ? 'failed' : state] += 1
    if (testModule.state() === 'failed' && !states.includes('failed')) counts.failed += 1
  }
  return counts
}
