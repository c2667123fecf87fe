import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { identify } from '../processes.ts'
import type { DeployRecord } from '../supervisor-record.ts'

const LAUNCHER = fileURLToPath(new URL('../../bin/namesake', import.meta.url))
const STAND_IN = `for (const signal of ['SIGHUP', 'SIGUSR2']) process.on(signal, () => console.log('asked'))
setInterval(() => {}, 1_000_000)
console.log('ready')`

/** A process in the place of a supervisor, whose record the test writes. */
async function standIn() {
  const dataDir = mkdtempSync(join(tmpdir(), 'namesake-deploys-'))
  const child = spawn(process.execPath, ['-e', STAND_IN], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(dataDir, { recursive: true, force: true })
  })
  const lines = createInterface(child.stdout)
  await once(lines, 'line')
  const identity = identify(child.pid!)
  const say = (deploy?: DeployRecord) =>
    writeFileSync(join(dataDir, 'supervisor.json'), JSON.stringify({ ...identity, version: '1.0.0', terminal: false, deploy }))
  writeFileSync(join(dataDir, 'lock'), JSON.stringify(identity))
  say()
  return { pid: child.pid!, dataDir, say, asked: once(lines, 'line') }
}

function run(dataDir: string, command: string, user: { uid?: number; gid?: number } = {}): Promise<{ code: number; err: string }> {
  const env = { PATH: process.env.PATH!, NAMESAKE_DATA_DIR: dataDir }
  return new Promise((resolve) => {
    execFile(LAUNCHER, [command], { env, cwd: dataDir, ...user }, (error, _, err) => resolve({ code: Number(error?.code ?? 0), err }))
  })
}

test("upgrade does not take somebody else's reload, which came first, for itself", async () => {
  const { pid, dataDir, say, asked } = await standIn()
  const outcome = run(dataDir, 'upgrade')
  await asked
  say({ number: 1, kind: 'reload', state: 'running', sentence: 'under way', from: '1.0.0', to: '1.0.0' })
  expect(await outcome).toEqual({ code: 1, err: `namesake: process ${pid} is busy: its reload is under way\n` })
})

test.skipIf(process.getuid!() !== 0)('another user is told who may ask for a reload', async () => {
  const { pid, dataDir } = await standIn()
  chmodSync(dataDir, 0o755)
  const { code, err } = await run(dataDir, 'reload', { uid: 65_534, gid: 65_534 })
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(`process ${pid} belongs to another user: root, or the user who`) })
})
