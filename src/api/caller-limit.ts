import type { ProjectRate } from '../core/project-rate.ts'
import type { Authenticator, Caller } from './authentication.ts'

/** As `authenticate`, with every call counted against its project's limit. */
export function limitCallers(authenticate: Authenticator['authenticate'], rate: Pick<ProjectRate, 'take'>): Authenticator['authenticate'] {
  const count = (caller: Caller) => {
    rate.take(caller.project.id)
    return caller
  }
  return (header) => {
    const caller = authenticate(header)
    return caller instanceof Promise ? caller.then(count) : count(caller)
  }
}
