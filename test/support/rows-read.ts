import { type RawBuilder, sql } from 'kysely'
import { type Db, rows } from '../../src/core/db.ts'

type Plan = { 'Actual Rows': number; 'Rows Removed by Filter'?: number; Plans?: Plan[] }

const rowsOf = ({ Plans = [], ...plan }: Plan): number =>
  plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) + Plans.reduce((sum, each) => sum + rowsOf(each), 0)

/** How many rows PostgreSQL reads, in all steps of its plan, to answer the statement. */
export async function rowsRead(db: Db, statement: RawBuilder<unknown>): Promise<number> {
  const [explained] = await rows(db, sql<{ 'QUERY PLAN': { Plan: Plan }[] }>`explain (analyze, format json) ${statement}`)
  return rowsOf(explained!['QUERY PLAN'][0]!.Plan)
}
