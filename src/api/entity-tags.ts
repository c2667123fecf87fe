import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { ANY_STATE, type SeenState } from '../core/seen-state.ts'

const TAG_HEX = 32

/**
 * The strong entity tag (RFC 9110 §8.8.3) of what may be changed of a resource. What changes there by itself, as how its DNS stands or how many
 * domains it holds, gives it no other one: whoever saves would be refused for nothing.
 */
export function entityTag(state: string): string {
  return `"${createHash('sha256').update(state).digest('hex').slice(0, TAG_HEX)}"`
}

/** What `If-Match` says was seen (RFC 9110 §13.1.1): one of its tags, compared strongly, or anything. A tag of ours has no comma. */
export function readIfMatch(field: string | undefined): SeenState {
  if (field === undefined) return ANY_STATE
  const tags = field.split(',').map((tag) => tag.trim())
  return tags.includes('*') ? ANY_STATE : (state) => tags.includes(entityTag(state))
}

export const IfMatchHeaders = Type.Object({
  'if-match': Type.Optional(
    Type.String({
      description: 'The `ETag` that it was read with: 412 when it has been changed since. Without it the change holds in any case.',
    }),
  ),
})
