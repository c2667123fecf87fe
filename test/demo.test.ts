import { execFile } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { isRunning } from '../src/processes.ts'
import { copyProject } from './support/project-copy.ts'
import { eventually, startTree, type Tree, type TreeOptions } from './support/tree.ts'

const GREETING = 'Hello, hello.localhost!\nproject   demo\n'
const NOBODY = { uid: 65_534, gid: 65_534 }
const isRoot = process.getuid?.() === 0
const undoing: (() => unknown)[] = []

afterEach(async () => {
  for (const undo of undoing.splice(0).reverse()) await undo()
})

test('as an ordinary user, the demo answers to the curl line that it prints; a second start finds everything again', async () => {
  const user = isRoot ? NOBODY : undefined
  const project = copyProject(0o755)
  undoing.push(project.remove)
  const home = mkdtempSync(join(tmpdir(), 'namesake-home-'))
  undoing.push(() => rmSync(home, { recursive: true, force: true }))
  if (user) chownSync(home, user.uid, user.gid)
  const dataDir = join(home, 'data')
  const options = { launcher: project.launcher, cwd: home, dataDir, env: { HOME: home }, ...(user ? { user } : {}) }

  const first = await startDemo(options)
  expect(await runPrintedCurl(first, user)).toContain(GREETING)
  const token = printedToken(first)
  expect(statSync(join(dataDir, 'demo-token')).mode & 0o777).toBe(0o600)
  expect(readFileSync(join(dataDir, 'demo-token'), 'utf8').trim()).toBe(token)
  const pids = first.pids()
  expect(await first.stop()).toBe(0)
  expect(pids.filter(isRunning)).toEqual([])

  const second = await startDemo(options)
  expect(await runPrintedCurl(second, user)).toContain(GREETING)
  expect(printedToken(second)).toBe(token)
})

test.runIf(isRoot)(
  'as root, from a project below a folder that only root can enter, the demo answers too, and only the supervisor stays root',
  async () => {
    const project = copyProject(0o700)
    undoing.push(project.remove)
    const dataDir = join(project.folder, '.namesake')
    const tree = await startDemo({ launcher: project.launcher, cwd: project.folder, dataDir })
    const located = realpathSync(dataDir)
    undoing.unshift(() => rmSync(located, { recursive: true, force: true }))
    expect(await runPrintedCurl(tree)).toContain(GREETING)
    const [supervisor, ...others] = tree.pids()
    expect(uidOf(supervisor!)).toBe(0)
    expect(others.length).toBeGreaterThanOrEqual(7) // PostgreSQL, follower, api, worker, two edge processes, the demo's application
    expect(others.filter((pid) => uidOf(pid) === 0)).toEqual([])
  },
)

test('the demo starts whatever the plans are called', async () => {
  const tree = await startDemo({ env: { NAMESAKE_PLANS: 'free:3' } })
  expect(await tree.command('projects', 'list')).toMatchObject([{ slug: 'demo', plan: 'free' }])
})

async function startDemo(options: TreeOptions): Promise<Tree> {
  if (options.dataDir) mkdirSync(join(options.dataDir, '..'), { recursive: true })
  const tree = await startTree({ ...options, args: ['--demo'] })
  undoing.push(() => tree.stop())
  await eventually(() => tree.output().includes('Try it:'))
  return tree
}

/** Runs the line as a person would copy it, and returns what it printed. */
async function runPrintedCurl(tree: Tree, user?: typeof NOBODY): Promise<string> {
  const line = /^ +(curl .*)$/m.exec(tree.output())![1]!
  const { stdout } = await promisify(execFile)('sh', ['-c', `${line} --silent --show-error --max-time 15`], { ...user, cwd: '/' })
  return stdout
}

function printedToken(tree: Tree): string {
  return /svc_[0-9a-f]{64}/.exec(tree.output())![0]
}

function uidOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
}
