// What a reader of a file checks of values that may be anything. All raise the reader's own error.

export interface Checks {
  bad(what: string): Error
  fields(value: unknown, what: string): { readonly [key: string]: unknown }
  array(value: unknown, what: string): readonly unknown[]
  number(value: unknown, what: string): number
  /** A whole number from 0 on. */
  count(value: unknown, what: string): number
  string(value: unknown, what: string): string
  oneOf<const T extends string>(value: unknown, known: readonly T[], what: string): T
  /** So many numbers, finite ones, of f64 as `bin`. */
  column(value: unknown, count: number, what: string): Float64Array
}
