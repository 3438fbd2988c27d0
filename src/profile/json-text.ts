// JSON as it may be shown: a value's text is what any reader gives back, and holds nothing that a terminal obeys or that
// turns around what is read.

/** DEL, the control characters that JSON leaves as they are (C1, of which U+009B begins an order), and all that change the direction. */
const UNSEEN = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** As `JSON.stringify`, with those as escapes. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(UNSEEN, escaped)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Elements of a list, each on a line of its own: its text, or the pieces of it. */
export function* elements<T>(
  values: Iterable<T>,
  textOf: (value: T) => string | Iterable<string> = jsonText,
): Generator<string> {
  let separator = '\n'
  for (const value of values) {
    const text = textOf(value)
    yield separator
    if (typeof text === 'string') yield text
    else yield* text
    separator = ',\n'
  }
}
