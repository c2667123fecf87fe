import type { Readable } from 'node:stream'
import type { Fields, RequestBody } from './engine.ts'

/** The body of a request that is a stream of node's. */
export function bodyOfStream(stream: Readable, length: number | undefined, trailers: () => Fields): RequestBody {
  let stop = () => {}
  return {
    length,
    trailers,
    start(reader) {
      const take = (chunk: Buffer) => reader.take(chunk)
      const end = () => reader.end()
      stop = () => void stream.off('data', take).off('end', end)
      stream.on('data', take).once('end', end)
    },
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    stop: () => stop(),
  }
}
