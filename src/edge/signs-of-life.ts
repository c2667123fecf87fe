/** Servers of gRPC turn away who asks more often than every five minutes while nothing else passes; two they overlook. */
const QUESTIONS_IN_SILENCE_MAX = 2
const BETWEEN_QUESTIONS_MS = 330_000

/** Whether the other end of a connection is still there, and when it should be asked: PING costs little, but not every server likes it. */
export class SignsOfLife {
  readonly #patienceMs: number
  #heardAt = performance.now()
  /** Since when something was sent and nothing heard. */
  #sentAt: number | undefined
  #askedAt = Number.NEGATIVE_INFINITY
  #isAsking = false
  #questions = 0

  /** `patienceMs`: for a sign of life after something was sent, and then for the answer to a question. */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs
  }

  sent(): void {
    this.#sentAt ??= performance.now()
  }

  heard(): void {
    this.#heardAt = performance.now()
    this.#sentAt = undefined
    this.#isAsking = false
  }

  /** A question was asked and nothing heard since. */
  get isDoubtful(): boolean {
    return this.#isAsking
  }

  /** More was heard than the answer to a question. */
  moved(): void {
    this.#questions = 0
  }

  /** `deliveredAtMs`: when its system last made room for more; a question may lie behind what it has not read. */
  isDead(nowMs: number, deliveredAtMs: number): boolean {
    return this.#isAsking && nowMs - Math.max(this.#askedAt, deliveredAtMs) >= this.#patienceMs
  }

  /** True: now is the time to ask. */
  ask(nowMs: number): boolean {
    const isQuiet = nowMs - this.#heardAt >= BETWEEN_QUESTIONS_MS && nowMs - this.#askedAt >= BETWEEN_QUESTIONS_MS
    const isOverdue = this.#sentAt !== undefined && nowMs - this.#sentAt >= this.#patienceMs && this.#questions < QUESTIONS_IN_SILENCE_MAX
    if (this.#isAsking || !(isQuiet || isOverdue)) return false
    this.#isAsking = true
    this.#askedAt = nowMs
    this.#questions += 1
    return true
  }
}
