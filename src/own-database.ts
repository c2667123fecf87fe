import { join } from 'node:path'
import { type EmbeddedPostgres, type EmbeddedPostgresParts, startEmbeddedPostgres } from './embedded-postgres.ts'
import { backOffMs, pause } from './lib/back-off.ts'

/** The embedded PostgreSQL from before its start to after its end, so that others can serve without it meanwhile. */
export type OwnDatabase = Pick<EmbeddedPostgres, 'yield' | 'resume' | 'stop'> & {
  /** Rejects when it cannot be started, or was told to stop before it was. `yielded`: another supervisor's until `resume`, which this one looks at only. */
  start(yielded?: boolean): Promise<EmbeddedPostgres['origin']>
  /** As `start`, but says what is wrong and goes on trying, for a tree that serves visitors from its local copy. */
  startBeside(): Promise<EmbeddedPostgres['origin']>
}

type OwnDatabaseParts = Omit<EmbeddedPostgresParts, 'startsMax' | 'yielded'> & { giveUp: AbortSignal }

/** How what visitors are served without is tried again, and after how many failures it is said again: some ten minutes (docs/decisions/0097). */
export const BACK_OFF = { firstMs: 1_000, maxMs: 30_000 }
export const SAID_AGAIN_AFTER = 20
const STARTS_AT_FIRST = 3 // what a killed server leaves behind is gone by then

/** Nothing runs before it is started. `stop` may come at any time, and ends a start under way. */
export function createOwnDatabase(parts: OwnDatabaseParts): OwnDatabase {
  const stopping = new AbortController()
  const giveUp = AbortSignal.any([parts.giveUp, stopping.signal])
  let starting: Promise<EmbeddedPostgres> | undefined

  const insist = async (): Promise<EmbeddedPostgres> => {
    let said: string | undefined
    for (let failures = 0; ; ) {
      giveUp.throwIfAborted()
      try {
        const postgres = await startEmbeddedPostgres({ ...parts, giveUp, startsMax: failures === 0 ? STARTS_AT_FIRST : 1 })
        if (failures > 0) parts.log.info('the embedded PostgreSQL has been started')
        return postgres
      } catch (error) {
        if (giveUp.aborted) throw error
        failures += 1
        const reason = (error as Error).message
        if (reason !== said || failures % SAID_AGAIN_AFTER === 0) sayTrouble(reason)
        said = reason
      }
      await pause(backOffMs(failures, BACK_OFF), giveUp)
    }
  }
  const sayTrouble = (reason: string) =>
    parts.log.error(
      { reason, log: join(parts.dataDir, 'postgres.log') },
      'the embedded PostgreSQL cannot be started. The edges serve from the local copy (/ready of the internal address says as of when); the API and the workers wait. Mend what the reason says: it is tried again within half a minute, and nothing has to be restarted',
    )
  const originOf = async (begun: Promise<EmbeddedPostgres>) => {
    starting = begun
    return (await begun).origin
  }

  return {
    start: (yielded = false) => originOf(startEmbeddedPostgres({ ...parts, giveUp, yielded })),
    startBeside: () => originOf(insist()),
    yield: async () => (await starting)?.yield(),
    resume: async () => (await starting)?.resume(),
    async stop(immediately) {
      stopping.abort()
      const postgres = await starting?.catch(() => undefined)
      await postgres?.stop(immediately)
    },
  }
}
