import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { identify } from './processes.ts'
import { findSupervisor, takeStartLock } from './start-lock.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'namesake-lock-'))
})
afterEach(() => rmSync(dataDir, { recursive: true }))

test('only one supervisor holds a data folder, until it lets go', () => {
  const lock = takeStartLock(dataDir)
  expect(findSupervisor(dataDir)?.pid).toBe(process.pid)
  expect(() => takeStartLock(dataDir)).toThrow(`already running on ${dataDir} (process ${process.pid})`)
  lock.release()
  expect(findSupervisor(dataDir)).toBeUndefined()
  expect(readdirSync(dataDir)).toEqual(['start.lock']) // the kernel's lock is on it, and removed it could be another's
})

test('the lock of a supervisor that was killed is taken over', async () => {
  const dead = spawn('sleep', ['60'])
  writeFileSync(join(dataDir, 'lock'), JSON.stringify(identify(dead.pid!)))
  expect(() => takeStartLock(dataDir)).toThrow(/already running/)
  dead.kill('SIGKILL')
  await once(dead, 'exit')
  takeStartLock(dataDir).release()
  expect(existsSync(join(dataDir, 'lock'))).toBe(false)
})

const NAMESPACE = process.getuid!() === 0 ? ['-pf', '--mount-proc'] : ['-rpf', '--mount-proc']

/** Takes the lock as a second container on the same volume would, which numbers its processes anew; answers with what it said. */
function takeElsewhere(): string {
  const code = "const { takeStartLock } = await import(process.env.MODULE); takeStartLock(process.env.DATA).release(); console.log('taken')"
  const env = { ...process.env, MODULE: new URL('start-lock.ts', import.meta.url).href, DATA: dataDir }
  const { stdout, stderr } = spawnSync('unshare', [...NAMESPACE, process.execPath, '--input-type=module', '-e', code], {
    env,
    encoding: 'utf8',
  })
  return stdout + stderr
}

test.skipIf(spawnSync('unshare', [...NAMESPACE, 'true']).status !== 0)(
  'a supervisor in another container keeps the folder, though its process cannot be seen, until it lets go',
  () => {
    const lock = takeStartLock(dataDir)
    expect(takeElsewhere()).toContain(`already running on ${dataDir}, in another container or machine`)
    expect(findSupervisor(dataDir)?.pid).toBe(process.pid)
    lock.release()
    expect(takeElsewhere()).toBe('taken\n')
  },
)

test.each([
  ['names a process that has the number of a dead supervisor', JSON.stringify({ pid: process.pid, startedAt: 'another boot:1' })],
  ['was cut short', '{"pid":'],
  ['is empty', ''],
])('a lock that %s is no lock', (_, text) => {
  writeFileSync(join(dataDir, 'lock'), text)
  takeStartLock(dataDir).release()
})
