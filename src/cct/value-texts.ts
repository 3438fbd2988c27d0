// Values come from the program, so control characters are replaced where a text is made, before any view or exporter uses it.

/** Replaces control characters, format characters and halves of surrogate pairs by `?`. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, '?')
}
