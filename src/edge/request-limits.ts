export const REQUEST_HEAD_BYTES_MAX = 32 * 1024
export const REQUEST_FIELDS_MAX = 200
export const REQUEST_TIMES_CHECKED_EVERY_MS = 1_000
export const STREAMS_PER_CONNECTION_MAX = 256

/** What is read and thrown away of an upload whose answer is complete, so that its sender sees the answer and not a broken connection. */
export const DISCARDED_BYTES_MAX = 1024 * 1024
export const DISCARDING_MS_MAX = 5_000
