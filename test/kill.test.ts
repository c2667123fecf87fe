import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventually, startTree, type Tree } from './support/tree.ts'

const ROUNDS = 20
const WRITERS = 4

/** Claims hostnames until told to stop; what was acknowledged is what must never be lost. */
function startWriters(tree: Tree, token: string, acknowledged: Set<string>, round: number) {
  let stopped = false
  const write = async (lane: number) => {
    for (let i = 0; !stopped; i++) {
      const hostname = `r${round}-w${lane}-${i}.customer.example`
      const answer = await fetch(`${tree.apiUrl}/v1/edge/domains`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ hostname }),
        signal: AbortSignal.timeout(10_000),
      }).catch(() => undefined)
      if (answer?.status === 200) acknowledged.add(hostname)
      else await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const lanes = Promise.all(Array.from({ length: WRITERS }, (_, lane) => write(lane)))
  return async () => {
    stopped = true
    await lanes
  }
}

const isAlive = (pid: number) => {
  try {
    // A zombie is dead already: it only waits to be read by its parent.
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

const kill = (pid: number) => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it ended by itself meanwhile
  }
}

test('after kill -9 of every process under writes, 20 times, no acknowledged claim is missing and no orphan is left', {
  timeout: 1_200_000,
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'namesake-kill-'))
  const acknowledged = new Set<string>()
  const seen = new Set<number>()
  let token = ''
  let tree = await startTree({ dataDir })
  await tree.command('projects', 'create', '--name', 'Shop', '--slug', 'shop', '--upstream', 'http://127.0.0.1:9')
  token = (await tree.command<{ token: string }>('tokens', 'issue', '--project', 'shop')).token

  for (let round = 0; round < ROUNDS; round++) {
    const stopWriters = startWriters(tree, token, acknowledged, round)
    const before = acknowledged.size
    await eventually(() => acknowledged.size > before + 5 + ((round * 7) % 40), 60_000)
    const pids = tree.pids()
    for (const pid of pids) seen.add(pid)
    // Every other round all die in one blow; in between only one of them does, and the tree must mend itself.
    const victims = round % 2 === 0 ? pids : [pids[1 + ((round >> 1) % (pids.length - 1))]!]
    for (const pid of victims) kill(pid)
    if (round % 2 === 0) {
      await stopWriters()
      tree = await startTree({ dataDir })
    } else {
      const hurt = acknowledged.size
      await eventually(() => acknowledged.size > hurt + 5, 60_000)
      await stopWriters()
    }
  }

  let listed: { hostname: string }[] = []
  await eventually(async () => {
    const answer = await fetch(`${tree.apiUrl}/v1/edge/domains`, { headers: { authorization: `Bearer ${token}` } })
    if (answer.status === 200) listed = (await answer.json()) as typeof listed
    return answer.status === 200 // the last kill may be a moment ago
  })
  const present = new Set(listed.map((domain) => domain.hostname))
  expect([...acknowledged].filter((hostname) => !present.has(hostname))).toEqual([])
  for (const pid of tree.pids()) seen.add(pid)
  expect(await tree.stop()).toBe(0)
  await eventually(() => ![...seen].some(isAlive), 10_000)
  rmSync(dataDir, { recursive: true, force: true })
})
