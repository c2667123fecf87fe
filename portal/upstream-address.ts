/** Whether the text is what a project's upstream may be: an http(s) address without path, query or credentials. The API has the last word. */
export function isUpstream(address: string): boolean {
  try {
    const { protocol, pathname, search, hash, username } = new URL(address)
    return /^https?:$/.test(protocol) && pathname === '/' && search === '' && hash === '' && username === ''
  } catch {
    return false
  }
}
