import { spawnSync } from 'node:child_process'
import { appendFileSync, chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { eventually, processesOf, startTree, type Tree, untilReady } from './support/tree.ts'

const LAUNCHER = fileURLToPath(new URL('../bin/namesake', import.meta.url))
const ADDED_ID = 12_345
const ADDED = `namesake:x:${ADDED_ID}:${ADDED_ID}::/nonexistent:/usr/sbin/nologin\n`
const mayMount = process.getuid!() === 0 && spawnSync('unshare', ['-m', 'true']).status === 0

test.runIf(mayMount)('a user made while the service runs changes nothing before the next start, not even in an upgrade', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'namesake-service-user-'))
  const accounts = join(folder, 'passwd')
  const others = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .filter((line) => !line.startsWith('namesake:'))
  writeFileSync(accounts, others.join('\n'))
  const launcher = join(folder, 'namesake')
  // What is started sees our list of users in place of the machine's.
  writeFileSync(
    launcher,
    `#!/bin/sh\nexec unshare -m sh -c 'mount --bind ${accounts} /etc/passwd && exec ${LAUNCHER} "$@"' namesake "$@"\n`,
  )
  chmodSync(launcher, 0o755)
  const dataDir = join(folder, 'data')
  chmodSync(folder, 0o755)
  let tree = await startTree({ launcher, dataDir })
  try {
    const [user] = await usersOf(tree)
    expect(await usersOf(tree)).toEqual([user])
    appendFileSync(accounts, ADDED)
    const [edge] = await processesOf(tree, 'edge')
    process.kill(edge!.pid, 'SIGKILL')
    await eventually(async () => !(await processesOf(tree)).some(({ pid }) => pid === edge!.pid))
    await untilReady(tree)
    expect(await usersOf(tree)).toEqual([user])
    expect(await tree.command('upgrade')).toMatchObject({ state: 'done' })
    await untilReady(tree)
    expect(await usersOf(tree)).toEqual([user])
    await tree.stop()
    spawnSync('chown', ['-R', String(ADDED_ID), ...['postgres', 'copy', 'run'].map((name) => join(dataDir, name))])
    tree = await startTree({ launcher, dataDir })
    expect(await usersOf(tree)).toEqual([ADDED_ID])
  } finally {
    await tree.stop()
    rmSync(folder, { recursive: true })
  }
})

/** The numbers of the users that the tree's processes run as. */
async function usersOf(tree: Tree): Promise<number[]> {
  const processes = await processesOf(tree)
  return [...new Set(processes.map(({ pid }) => statSync(`/proc/${pid}`).uid))]
}
