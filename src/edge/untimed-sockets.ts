import type { Socket } from 'node:net'

const IS_NODE = process.versions.bun === undefined
const doNothing = () => {}

/**
 * Has node not look for an idle time-out of the socket, as it does with each read and write, in the socket and in what lies below it: the edge keeps
 * its deadlines itself (`timeouts.ts`). `setTimeout` of the socket would never be put off after this. It spares some hundredths of a small request.
 */
export function forgoTimeout(socket: Socket): void {
  if (IS_NODE) Object.assign(socket, { _unrefTimer: doNothing })
}
