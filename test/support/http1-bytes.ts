export type HeadRead = { text: string; end: number }
export type BodyRead = { body: Buffer; trailers: string; end: number }

/** The head that begins at `at`, with its last line end; undefined while it is not whole. */
export function readHead(bytes: Buffer, at = 0): HeadRead | undefined {
  const lastLine = bytes.indexOf('\r\n\r\n', at)
  if (lastLine < 0) return undefined
  const end = lastLine + 4
  return { text: bytes.toString('latin1', at, end), end }
}

/** The body behind this head, by its length or in chunks; undefined while it is not whole. */
export function readBody(bytes: Buffer, head: HeadRead): BodyRead | undefined {
  if (/^transfer-encoding: chunked\r$/im.test(head.text)) return readChunks(bytes, head.end)
  const end = head.end + Number(/^content-length: (\d+)\r$/im.exec(head.text)?.[1] ?? 0)
  return end > bytes.length ? undefined : { body: bytes.subarray(head.end, end), trailers: '', end }
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
