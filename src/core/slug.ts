import { ServiceError } from '../errors.ts'

const SLUG = /^[a-z0-9](-?[a-z0-9]){0,62}$/
const SLUG_LENGTH_MAX = 63

/** A project's name in addresses, fixed once made. Throws `slug_invalid`. */
export function parseSlug(text: string): string {
  if (SLUG.test(text)) return text
  throw new ServiceError('slug_invalid', 'a slug has 1 to 63 lower-case letters and digits, with single hyphens between them')
}

/** The slug that a name suggests; a name without one Latin letter or digit gives `project`. */
export function slugFromName(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const slug = plain
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, SLUG_LENGTH_MAX)
    .replace(/^-+|-+$/g, '')
  return slug || 'project'
}
