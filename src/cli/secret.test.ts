import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { readConfig } from '../config.ts'
import { ensureOwnKeys } from '../roles/own-keys.ts'

const LAUNCHER = fileURLToPath(new URL('../../bin/namesake', import.meta.url))
const [RIGHT, NEW, WRONG] = ['r'.repeat(32), 'n'.repeat(32), 'w'.repeat(32)]
const MAY_DROP = /can hold the first alone/

type Outcome = { code: number; out: string; err: string }

let folder: string
let database: TestDatabase
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'namesake-secret-'))
  database = await createTestDatabase()
  await ensureOwnKeys(database.db, readConfig(settings(RIGHT), folder).config)
})
afterAll(async () => {
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

function settings(secret: string): Record<string, string> {
  return { NAMESAKE_DATABASE_URL: database.url, NAMESAKE_SECRET: secret, NAMESAKE_LOG_LEVEL: 'silent' }
}

function run(secret: string, ...args: string[]): Promise<Outcome> {
  const env = { PATH: process.env.PATH!, ...settings(secret) }
  return new Promise((resolve) => {
    execFile(LAUNCHER, args, { env, cwd: folder }, (error, out, err) => resolve({ code: Number(error?.code ?? 0), out, err }))
  })
}

test('a page for an owner and the part of an edge machine are made with the secret of the installation alone', async () => {
  const project = await addProject(database.db)
  const hostname = await claim(database.db, project)
  for (const command of [['domains', 'link', '--project', project.slug, hostname], ['edge-access']]) {
    const refused = await run(WRONG, ...command)
    expect(refused).toMatchObject({ code: 1, out: '', err: expect.stringContaining('NAMESAKE_SECRET is not the secret') })
    expect(await run(RIGHT, ...command)).toMatchObject({ code: 0 })
  }
})

test('no former secret is to be dropped while values are sealed by one that is not given', async () => {
  for (const command of ['reseal', 'status']) {
    const { code, out } = await run(`${NEW},${WRONG}`, 'secret', command)
    expect({ code, out }).toEqual({ code: 1, out: expect.stringMatching(/were sealed by a secret that is not given: append it/) })
    expect(out).not.toMatch(MAY_DROP)
  }
  expect(await run(`${NEW},${RIGHT}`, 'secret', 'status')).toMatchObject({ code: 0, out: expect.stringMatching(/keep it, and run/) })
  expect(await run(`${NEW},${RIGHT}`, 'secret', 'reseal')).toMatchObject({ code: 0, out: expect.stringMatching(MAY_DROP) })
  expect(await run(NEW, 'secret', 'status')).toMatchObject({ code: 0, out: expect.stringMatching(MAY_DROP) })
})
