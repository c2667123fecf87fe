import { ServiceError } from '../errors.ts'

export const ROLES = ['owner', 'admin', 'member'] as const

/** Member: sees everything, manages domains. Admin: also tokens, members and settings. Owner: everything. */
export type Role = (typeof ROLES)[number]

/** Throws `role_insufficient` unless the role is the needed one or more. */
export function requireRole(role: Role | 'operator', needed: 'owner' | 'admin'): void {
  if (role === 'operator' || role === 'owner' || role === needed) return
  const who = needed === 'owner' ? 'an owner' : 'an owner or an admin'
  throw new ServiceError('role_insufficient', `only ${who} of the project may do this, and you are its ${role}: ask one of them`)
}
