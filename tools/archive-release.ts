import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

// Keeps the program of a release for the tests that run it beside today's: `node tools/archive-release.ts <version> <tag or commit>`.
// It finds its packages in the project's node_modules and has no portal; neither tests nor their support come with it.
const [version, commit] = process.argv.slice(2)
if (!version || !commit) throw new Error('what to archive? node tools/archive-release.ts 1.2.0 v1.2.0')

const root = fileURLToPath(new URL('../', import.meta.url))
const paths = ['bin', 'src', 'sql', 'examples/vendor-app', 'package.json', ':(exclude)src/**/*.test.ts', ':(exclude)src/**/*.fixture.ts']
const tar = execFileSync('git', ['archive', '--format=tar', commit, ...paths], { cwd: root, maxBuffer: 100_000_000 })
const file = `test/releases/${version}.tar.gz`
writeFileSync(new URL(`../${file}`, import.meta.url), gzipSync(tar, { level: 9 }))
console.log(`${file} holds ${commit}`)
