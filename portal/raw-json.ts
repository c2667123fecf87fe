const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g

/** The text of a member of a JSON object, as it was sent: parsing would lose key order and the notation of numbers. */
export function rawMember(json: string, name: string): string | undefined {
  let depth = 0
  let before = ''
  let from: number | undefined
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    if (depth === 1 && from !== undefined && (token === ',' || token === '}')) return json.slice(from, index).trim()
    if (token === '{' || token === '[') depth += 1
    else if (token === '}' || token === ']') depth -= 1
    else if (token === ':' && depth === 1 && from === undefined && JSON.parse(before) === name) from = index + 1
    before = token
  }
  return undefined
}

/** The same JSON with a line for each member, indented by two blanks; nothing but the blanks between its parts is touched. */
export function layOut(json: string): string {
  let depth = 0
  let before = ''
  let laidOut = ''
  for (const [token] of json.matchAll(TOKEN)) {
    const isAfterOpening = before === '{' || before === '['
    if (token === '}' || token === ']') {
      depth -= 1
      if (!isAfterOpening) laidOut += `\n${'  '.repeat(depth)}`
    } else if (isAfterOpening || before === ',') laidOut += `\n${'  '.repeat(depth)}`
    else if (before === ':') laidOut += ' '
    if (token === '{' || token === '[') depth += 1
    laidOut += token
    before = token
  }
  return laidOut
}
