/** The numbers of RFC 9113 §6 and §7, and what a peer is told when it does not keep to them. */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const FLAG = { none: 0, ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const

export const ERROR_CODE = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const

/** As RFC 9113 §7 spells them, in its order. */
const ERROR_NAMES = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
]

/** `code`: one of ERROR_CODE. */
export function errorName(code: number): string {
  return ERROR_NAMES[code] ?? `error ${code}`
}

export const SETTING = { headerTableSize: 1, enablePush: 2, maxStreams: 3, initialWindow: 4, maxFrame: 5, maxHeaderList: 6 } as const

export const FRAME_HEAD_BYTES = 9
/** The least that everybody must take, and the most that we take and send. */
export const FRAME_BYTES_MAX = 16_384
export const STREAM_ID_MAX = 2 ** 31 - 1

/** Ends the connection with GOAWAY. */
export class ConnectionError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** PROTOCOL_ERROR: a rule is broken that has no error code of its own (RFC 9113 §7). */
export function violation(what: string): ConnectionError {
  return new ConnectionError(ERROR_CODE.protocol, what)
}
