/** SQLite's primary result codes (sqlite.org/rescode.html). */
const CODES = { busy: [5], full: [13], damage: [11, 26] } // SQLITE_BUSY, _FULL, _CORRUPT and _NOTADB

/** Whether an error says that the file is locked, that there is no room for more on its disk, or that its bytes are wrong. */
export function isSqliteError(error: unknown, kind: keyof typeof CODES): boolean {
  const code = (error as { errcode?: unknown } | undefined)?.errcode
  return typeof code === 'number' && CODES[kind].includes(code & 0xff)
}
