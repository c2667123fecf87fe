import { pino } from 'pino'
import type { EdgeParts } from '../../src/edge/edge.ts'
import { LineBytes } from '../../src/lib/line-bytes.ts'

const ROOM_BYTES = 1_024

/** Both logs of an edge, line by line. */
export function logsInto(write: (line: string) => void): Pick<EdgeParts, 'log' | 'accessLog'> {
  const line = new LineBytes(ROOM_BYTES)
  return { log: pino({ base: null }, { write }), accessLog: { line, ended: () => write(line.take().toString()) } }
}
