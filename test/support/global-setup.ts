import type { TestProject } from 'vitest/node'
import { createTemplate, type PostgresServer, startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrls: readonly string[]
  }
}

const servers: PostgresServer[] = []

/**
 * PostgreSQL for the whole run: one server for each file that runs beside others, which takes databases of its own from it. On one server a transaction
 * of one file would hold up the change feeds of all.
 */
export async function setup(project: TestProject): Promise<void> {
  const { maxWorkers } = project.vitest.config
  const started = await Promise.all(Array.from({ length: maxWorkers }, startWithTemplate))
  project.provide('postgresUrls', started)
}

async function startWithTemplate(): Promise<string> {
  const server = await startPostgres({ durable: false })
  servers.push(server)
  await createTemplate(server.adminUrl)
  return server.adminUrl
}

export async function teardown(): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()))
}
