import { fileURLToPath } from 'node:url'
import { createSupervisorLog } from '../../src/cli/supervisor-log.ts'
import { readConfig } from '../../src/config.ts'
import type { Role } from '../../src/role-tree.ts'
import { type Running, startFacts } from '../../src/start-screen.ts'
import { supervise } from '../../src/supervisor.ts'
import { readWorkingFolder } from '../../src/working-folder.ts'

// The supervisor with fixture processes instead of the real roles.
const { config, dotEnv } = readConfig(process.env, process.cwd())
const roles = (process.env.FIXTURE_ROLES ?? 'api,worker,edge').split(',') as Role[]
const script = fileURLToPath(new URL('role.fixture.ts', import.meta.url))
const onRunning = (running: Running) => console.log(JSON.stringify(startFacts(running)))
const next = process.env.FIXTURE_NEXT
const folder = readWorkingFolder(process.env.PWD)
const launch = next ? { command: next, args: [], folder } : { command: process.execPath, args: [fileURLToPath(import.meta.url)], folder }
try {
  const parts = { config, roles, demo: false, env: process.env, dotEnv, onRunning, output: { fd: 2 }, terminal: false, script, launch }
  process.exit(await supervise({ ...parts, log: createSupervisorLog({ level: 'info', terminal: false }) }))
} catch (error) {
  const { message } = error as Error
  console.error(`failed: ${message}`)
  process.exit(1)
}
