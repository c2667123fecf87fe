/** How one request ended; times by performance.now(). */
export type Miss = { edge: string; kind: string; hostname: string; startedAt: number; endedAt: number; sentence: string }

/** What came of the requests that began within one fault's time. */
export class Tally {
  requests = 0
  underWay = 0
  readonly failed: Miss[] = []
  readonly wrong: Miss[] = []
}

/** An answer, or a certificate, that is not the hostname's own: the one thing that may never happen. */
export class WrongAnswer extends Error {}
