/** Rows in pages by `key`, from behind `start`; a page with fewer rows than `size` is the last. */
export async function* eachPage<Key extends string, Row extends Record<Key, string>>(
  { key, start, size }: { key: Key; start: string; size: number },
  read: (after: string) => Promise<Row[]>,
): AsyncIterable<Row[]> {
  let after = start
  for (;;) {
    const page = await read(after)
    if (page.length > 0) yield page
    if (page.length < size) return
    after = page.at(-1)![key]
  }
}
