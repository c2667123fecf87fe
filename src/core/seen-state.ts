import { ServiceError } from '../errors.ts'

/** Whether who wants to change something has seen it as it is: true of any state where they did not say what they saw. */
export type SeenState = (state: string) => boolean

export const ANY_STATE: SeenState = () => true

/** To be asked behind the row's lock, so that nothing comes between this and the change. Throws `changed_meanwhile`. */
export function requireSeen(seen: SeenState, state: string): void {
  if (!seen(state))
    throw new ServiceError('changed_meanwhile', 'it was changed since you read it: read it again, then change it as it is now')
}
