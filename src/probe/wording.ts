import { asEntered } from './target.ts'
import type { Hop } from './walk.ts'

const NAMES_SHOWN_MAX = 4

export function chain(hops: Hop[]): string {
  const names = [hops[0]?.name ?? '', ...hops.map((hop) => hop.target)]
  return names.length > NAMES_SHOWN_MAX + 1 ? `${names.slice(0, NAMES_SHOWN_MAX).join(' → ')} → …` : names.join(' → ')
}

export function show(name: string): string {
  return `"${asEntered(name)}"`
}

/** In order, as answers rotate what they hold: the same records make the same sentence. */
export function list(unordered: readonly string[]): string {
  const items = unordered.toSorted()
  if (items.length > NAMES_SHOWN_MAX)
    return `${items.slice(0, NAMES_SHOWN_MAX - 1).join(', ')} and ${items.length - NAMES_SHOWN_MAX + 1} more`
  return items.length < 2 ? items.join() : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}

export function plural(items: string[], one: string, many = `${one}s`): string {
  return items.length === 1 ? one : many
}

export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
