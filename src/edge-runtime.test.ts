import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { ConfigError } from './config.ts'
import { allocatorEnvironment, findAllocator } from './edge/allocator.ts'
import { accepts, findBun, findEdgeRuntime } from './edge-runtime.ts'

const OURS = fileURLToPath(new URL('..', import.meta.url))
const ARCH = process.arch === 'arm64' ? 'aarch64' : process.arch

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A folder in which `bun`, at each of the places, says that it has the version. */
function folderWith(bins: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'namesake-bun-'))
  folders.push(folder)
  for (const [place, version] of Object.entries(bins)) {
    mkdirSync(join(folder, place), { recursive: true })
    writeFileSync(join(folder, place, 'bun'), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 })
  }
  return folder
}

test('the edge runs on the Node that runs everything else, unless Bun is asked for', () => {
  expect(findEdgeRuntime({ edgeRuntime: 'node' }).program).toBe(process.execPath)
  expect(findEdgeRuntime({ edgeRuntime: 'bun' }).program).toBe(findBun({ folder: OURS, path: '' }))
})

test('Bun keeps its compiled code while nobody asks, and collects after 16 MB, as long as it knows those settings', () => {
  const { program, env } = findEdgeRuntime({ edgeRuntime: 'bun' })
  const { stderr } = spawnSync(program, ['-e', '0'], { encoding: 'utf8', env: { ...env, BUN_JSC_dumpOptions: '1' } })
  expect(stderr).toContain('forceCodeBlockLiveness=true (default: false)')
  expect(stderr).toContain('gcMaxHeapSize=16777216 (default: 0)')
  const strict = join(folderWith({ bin: '1.4.5' }), 'bin/bun')
  writeFileSync(strict, '#!/bin/sh\n[ -z "$BUN_JSC_forceCodeBlockLiveness" ] || exit 1\n')
  expect(accepts(strict, {})).toBe(true)
  expect(accepts(strict, { BUN_JSC_forceCodeBlockLiveness: '1' })).toBe(false)
  expect(accepts(program, { BUN_JSC_unheardOf: '1' })).toBe(false)
})

/**
 * Makes and forgets buffers as requests do; says how often the system was asked for memory in the middlemost of three stretches, once the
 * heap has grown. By counts, not by time: on a busy machine too.
 */
const REQUESTS = `
  const faultsOf = async (times) => {
    const before = process.resourceUsage().minorPageFault
    for (let n = 0; n < times; n += 1, await Bun.sleep(1))
      for (let i = 0; i < 20; i += 1) Buffer.allocUnsafeSlow(16 * 1024).fill(i)
    return process.resourceUsage().minorPageFault - before
  }
  await faultsOf(500)
  const stretches = [await faultsOf(400), await faultsOf(400), await faultsOf(400)]
  console.log(stretches.sort((a, b) => a - b)[1])
`

test('Bun uses memory again that requests have left, instead of giving it back and asking for it anew', () => {
  const { program, flags, env } = findEdgeRuntime({ edgeRuntime: 'bun' })
  const pageFaults = (settings: NodeJS.ProcessEnv) =>
    Number(spawnSync(program, [...flags, '-e', REQUESTS], { encoding: 'utf8', env: settings }).stdout)
  expect(pageFaults(env)).toBeLessThan(pageFaults({}) / 4)
})

test("jemalloc is taken from the first place that has it, and where none has it all stays with the C library's allocator", () => {
  const [empty, first, second] = [folderWith({}), folderWith({}), folderWith({})]
  for (const folder of [first, second]) writeFileSync(join(folder, 'libjemalloc.so.2'), '')
  expect(findAllocator([empty, undefined, first, second])).toBe(join(first, 'libjemalloc.so.2'))
  expect(allocatorEnvironment([first])).toEqual({ LD_PRELOAD: join(first, 'libjemalloc.so.2'), MALLOC_CONF: 'narenas:1' })
  expect(findAllocator([empty, undefined])).toBeUndefined()
  expect(allocatorEnvironment([empty])).toEqual({})
  expect(findEdgeRuntime({ edgeRuntime: 'node' }).env).toMatchObject(allocatorEnvironment())
})

test('a process knows whether it runs on jemalloc, whatever is installed', () => {
  const script = `import { runsOnJemalloc } from '${new URL('./edge/allocator.ts', import.meta.url)}'; console.log(runsOnJemalloc())`
  const answer = (env: NodeJS.ProcessEnv) =>
    spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', env }).stdout.trim()
  expect(answer({})).toBe('false')
  expect(answer(allocatorEnvironment())).toBe(String(findAllocator() !== undefined))
})

test('Bun is taken from our own packages, from beside us, else from the PATH', () => {
  const own = `node_modules/@oven/bun-linux-${ARCH}/bin`
  const beside = `@oven/bun-linux-${ARCH}/bin`
  const all = folderWith({ [own]: '1.4.5', bin: '1.4.5' })
  expect(findBun({ folder: all, path: join(all, 'bin') })).toBe(join(all, own, 'bun'))
  const dependency = folderWith({ [beside]: '1.4.5', bin: '1.4.5' })
  expect(findBun({ folder: join(dependency, 'namesake'), path: join(dependency, 'bin') })).toBe(join(dependency, beside, 'bun'))
  const moved = folderWith({ bin: '1.4.5' })
  mkdirSync(join(moved, 'node_modules/bun/bin'), { recursive: true })
  writeFileSync(join(moved, 'node_modules/bun/bin/bun.exe'), '#!/bin/sh\necho 1.4.5\n', { mode: 0o755 })
  expect(findBun({ folder: moved, path: join(moved, 'bin') })).toBe(join(moved, 'node_modules/bun/bin/bun.exe'))
  const system = folderWith({ bin: '2.0.1' })
  expect(findBun({ folder: system, path: `/nowhere:${join(system, 'bin')}` })).toBe(join(system, 'bin/bun'))
})

test('without Bun, or with one that is too old, the message says what to run', () => {
  const empty = folderWith({})
  const old = folderWith({ bin: '1.3.9' })
  const install = `Run 'npm install --no-save --omit=dev @oven/bun-linux-${ARCH}@1.4.5' in`
  expect(() => findBun({ folder: empty, path: '' })).toThrow(ConfigError)
  expect(() => findBun({ folder: empty, path: '' })).toThrow(`and there is none. ${install} ${empty}, or set NAMESAKE_EDGE_RUNTIME=node`)
  expect(() => findBun({ folder: empty, path: join(old, 'bin') })).toThrow(`and ${old}/bin/bun is 1.3.9. ${install}`)
})

test('a Bun that takes too long to answer is not said to be missing, nor to refuse a setting', () => {
  const slow = folderWith({ bin: '1.4.5' })
  writeFileSync(join(slow, 'bin/bun'), '#!/bin/sh\nexec sleep 20\n')
  const message = `${slow}/bin/bun did not answer within 0.1 s. Start again once the machine is less busy`
  expect(() => findBun({ folder: slow, path: join(slow, 'bin'), answerMs: 100 })).toThrow(message)
  expect(() => accepts(join(slow, 'bin/bun'), {}, 100)).toThrow(message)
})
