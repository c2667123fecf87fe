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
  for (let left = project.vitest.config.maxWorkers; left > 0; left -= 1) {
    const server = await startPostgres({ durable: false })
    servers.push(server)
    await createTemplate(server.adminUrl)
  }
  project.provide(
    'postgresUrls',
    servers.map(({ adminUrl }) => adminUrl),
  )
}

export async function teardown(): Promise<void> {
  for (const server of servers) await server.stop()
}
