import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { commandOf, isRunning, nameOf } from '../src/processes.ts'
import { eventually, startTree, type Tree } from './support/tree.ts'

let tree: Tree
afterEach(() => tree?.stop(), 60_000)

/** How the tree's supervisor stops after `signal` has told it to; its lines since `before` that speak of trouble. */
async function stopped(told: () => void): Promise<{ code: number | null; troubles: string[] }> {
  const before = tree.output().length
  const pids = tree.pids()
  const closed = once(tree.process, 'close') as Promise<[number | null]>
  told()
  const [code] = await closed
  expect(pids.filter(isRunning)).toEqual([])
  const lines = tree.output().slice(before).split('\n')
  return { code, troubles: lines.filter((line) => /"level":"(warn|error|fatal)"|starting it again/.test(line)) }
}

const signalGroup = (name: NodeJS.Signals) => () => void process.kill(-tree.process.pid!, name)

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s for the whole process group, as of Ctrl-C on a terminal, stops everything without a word of trouble',
  async (name) => {
    tree = await startTree({ ownGroup: true, args: ['--demo'] })
    expect(await stopped(signalGroup(name))).toEqual({ code: 0, troubles: [] })
  },
)

test('SIGHUP for the whole process group, as of a terminal that goes while nohup runs us, is a reload, and no process dies of it', async () => {
  tree = await startTree({ ownGroup: true })
  signalGroup('SIGHUP')()
  await eventually(() => tree.output().includes('processes were replaced'), 60_000)
  expect(tree.output()).not.toMatch(/starting it again|"level":"(warn|error|fatal)"/)
})

test('so it does when the processes hear of it one after the other, the first one last', async () => {
  tree = await startTree()
  const ours = tree.pids().filter((pid) => !nameOf(pid).startsWith('postgres'))
  expect(ours).toHaveLength(6) // supervisor, follower, api, worker, two edge processes
  const oneByOne = () => {
    for (const pid of ours.toReversed()) process.kill(pid, 'SIGTERM')
  }
  expect(await stopped(oneByOne)).toEqual({ code: 0, troubles: [] })
})

test.each(['SIGTERM', 'SIGINT'] as const)('so it does when %s comes while everything starts', async (name) => {
  tree = await startTree({ ownGroup: true, awaitReady: false })
  await eventually(() => tree.pids().some((pid) => commandOf(pid).at(-1) === 'api'), 60_000)
  expect(await stopped(signalGroup(name))).toEqual({ code: 0, troubles: [] })
})
