import type { TestProject } from 'vitest/node'
import { createTemplate, type PostgresServer, startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
  }
}

let server: PostgresServer | undefined

/** One PostgreSQL for the whole run; every test file takes a database of its own from it. */
export async function setup(project: TestProject): Promise<void> {
  server = await startPostgres({ durable: false })
  await createTemplate(server.adminUrl)
  project.provide('postgresUrl', server.adminUrl)
}

export async function teardown(): Promise<void> {
  await server?.stop()
}
