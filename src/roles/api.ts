import type { RoleContext, RunningRole } from './role.ts'
