const CONTROLS = /[\u007f-\u009f]/g
const CONTROLS_AND_SEPARATORS = /[\u007f-\u009f\u2028\u2029]/g

/**
 * JSON without a character that a terminal obeys: JSON itself leaves DEL and the control characters beyond ASCII, CSI and OSC among them, as they are.
 * It says the same as before.
 */
export function escapeControls(json: string): string {
  return json.replace(CONTROLS, escaped)
}

/** As `escapeControls`, for JSON in one line: nor is there a character then that ends a line for any reader of lines. */
export function escapeInLine(json: string): string {
  return json.replace(CONTROLS_AND_SEPARATORS, escaped)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
