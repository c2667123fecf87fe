import { REQUEST_HEAD_BYTES_MAX } from '../request-limits.ts'

/** How a visitor's frames are read. */
export const VISITOR_RULES = { hasPreface: true, headBytesMax: REQUEST_HEAD_BYTES_MAX, blockBytesMax: 64 * 1024 }
/** From when we say that we go until no further stream is taken, where our PING is not acknowledged: what was on its way has come by then. */
export const GOAWAY_GRACE_MS = 2_000
/** For a visitor that has our last answer only in part: the rest is in the system's buffers, or on the line. No longer, as whoever went to sleep holds up a stop. */
export const HEARD_MS_MAX = 10_000
/** For what the other side has on its way when our last frames have left; for those to leave, too. */
export const LINGER_MS = 1_000
/** A reset that comes sooner behind its request is what costs more than it brings (CVE-2023-44487); later it is a client that waited and gave up. */
export const RAPID_MS = 50
/** For how long a request waits while too much is kept, of most of which nobody takes anything: then its visitor is told that it may send it elsewhere. */
export const BEGIN_MS_MAX = 10_000
/** curl, told in the same breath as it is answered that the rest of its upload is not wanted, throws the answer away. */
export const EARLY_ANSWER_MS = 500
/**
 * With more than this on its way, an upstream gets no more requests on a connection until it has read: a head is held back by no window, and an upstream can answer
 * what it never read, so that the number of open streams would bound nothing.
 */
export const UNREAD_HEADS_BYTES_HIGH = 1024 * 1024
