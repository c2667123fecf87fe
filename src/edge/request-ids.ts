import { randomBytes } from 'node:crypto'

/** 128 random bits. */
const DIGITS = 32
const MADE_AT_ONCE = 256

/** Ids of requests: 32 hexadecimal digits each, as many as nobody guesses or meets twice. */
export function createRequestIds(): () => string {
  let digits = ''
  let at = 0
  return () => {
    if (at === digits.length) {
      digits = randomBytes((MADE_AT_ONCE * DIGITS) / 2).toString('hex')
      at = 0
    }
    at += DIGITS
    return digits.slice(at - DIGITS, at)
  }
}
