import { unmapped } from '../lib/addresses.ts'
import { openBudgetAside } from './budget.ts'
import type { Resolver } from './resolver.ts'
import type { Edge } from './verdict.ts'

/**
 * Where the operator has set no addresses, those of the edge host count as ours, since an ALIAS leads to them: looked up once a minute at most. Where that
 * fails, those that were found before.
 */
export async function learnOwnAddresses(edge: Edge, resolver: Resolver): Promise<void> {
  if (edge.isLocal || edge.addresses.size > 0) return
  const replies = await Promise.all(
    (['A', 'AAAA'] as const).map((type) => resolver.resolveCached({ name: edge.host, type }, openBudgetAside())),
  )
  const records = replies.flatMap((reply) => (reply.kind === 'answer' ? reply.message.answers : []))
  const found = records.filter(({ type }) => type === 'A' || type === 'AAAA')
  if (found.length === 0) return
  edge.ours.clear()
  for (const { value } of found) edge.ours.add(unmapped(value))
}
