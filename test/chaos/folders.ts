import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runToEnd } from './processes.ts'

/** Where the fleet has its data and its programs' output; everybody can enter both. */
export type Folders = { home: string; logs: string }

/** In a lab of its own they are in memory, so that they are gone with it, however it ends. */
export async function makeFolders(lab: 'own' | 'shared', keptLogs: string | undefined, undo: AsyncDisposableStack): Promise<Folders> {
  const home = lab === 'own' ? await mountMemory() : mkdtempSync(join(tmpdir(), 'namesake-chaos-'))
  if (lab === 'shared') undo.defer(() => rmSync(home, { recursive: true, force: true }))
  chmodSync(home, 0o711)
  const logs = keptLogs ? resolve(keptLogs) : join(home, 'logs')
  mkdirSync(logs, { recursive: true })
  return { home, logs }
}

/** Over a folder that every machine has, in the lab's own mounts alone. */
async function mountMemory(): Promise<string> {
  await runToEnd(['mount', '-t', 'tmpfs', '-o', 'mode=0711', 'tmpfs', '/mnt'])
  return '/mnt'
}
