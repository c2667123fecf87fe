export const REQUEST_HEAD_BYTES_MAX = 32 * 1024
export const REQUEST_TARGET_BYTES_MAX = 16 * 1024
/** Of HTTP/2 without cookies, which browsers send one in a field. */
export const REQUEST_FIELDS_MAX = 100
export const REQUEST_TIMES_CHECKED_EVERY_MS = 1_000
export const STREAMS_PER_CONNECTION_MAX = 256

/** What a visitor may send ahead while its request before is answered; then it waits. */
export const PIPELINED_BYTES_MAX = 64 * 1024

/**
 * How long an upload whose answer is complete is read and thrown away, so that its sender sees the answer and not a broken connection: many read
 * nothing before they have sent all. It costs no more than one that is wanted.
 */
export const DISCARDING_MS_MAX = 30_000
