// Rows of values (--by): the target writes them as calls directly below the root, with the time stamps of the root. So such a row has no
// probe of its own: the inner part of the root's probe is in the time of the row, and the root itself has no time.

/** Method ids from `first` to `last`, both inclusive. */
export interface ValueRows {
  readonly first: number
  readonly last: number
}

/** Number of entry and exit events of a root call that no probe has written. */
export const VALUE_ROW_EVENTS = 2

export function isValueRow(method: number, rows: ValueRows | undefined): boolean {
  return rows !== undefined && method >= rows.first && method <= rows.last
}
