export type BodyRead = { body: Buffer; trailers: string; end: number }

/** The body that begins at `at` behind this head, by its length or in chunks; undefined while it is not whole. */
export function readBody(bytes: Buffer, at: number, head: string): BodyRead | undefined {
  if (/^transfer-encoding: chunked\r$/im.test(head)) return readChunks(bytes, at)
  const end = at + Number(/^content-length: (\d+)\r$/im.exec(head)?.[1] ?? 0)
  return end > bytes.length ? undefined : { body: bytes.subarray(at, end), trailers: '', end }
}

function readChunks(bytes: Buffer, from: number): BodyRead | undefined {
  const chunks: Buffer[] = []
  let at = from
  for (let size = -1; size !== 0; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + (size > 0 ? 2 : 0)
  }
  const lineEnd = bytes.indexOf('\r\n', at)
  if (lineEnd < 0) return undefined
  const trailers = bytes.toString('latin1', at, lineEnd)
  const end = lineEnd + (trailers === '' ? 2 : 4)
  return end > bytes.length ? undefined : { body: Buffer.concat(chunks), trailers, end }
}

/** The body as it goes on the wire, in chunks of these sizes. */
export function inChunks(body: Buffer, nextSize: () => number): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const chunk = body.subarray(at, at + nextSize())
    at += chunk.length
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}
