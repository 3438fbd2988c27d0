// Writes JSON that is safe to display: it contains no characters that control a terminal or change the text direction. A parser returns
// the same value as without the escapes.

/**
 * DEL, the control characters that JSON does not escape (C1, including U+009B, which starts terminal control sequences), and all characters
 * that change the text direction.
 */
const UNSEEN = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Returns the result of `JSON.stringify` with the characters in `UNSEEN` escaped. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(UNSEEN, escaped)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Yields the elements of a list, each on its own line. An element is a text or pieces of a text. */
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
