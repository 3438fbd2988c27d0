// The port of a live view to files: what can be written of what is shown, and who writes it.

export interface KeptFormat {
  readonly name: string
  /** Of a file, with its dot. */
  readonly extension: string
  /** What it is, and what opens it. */
  readonly description: string
}

/** What `s` writes. */
export const SNAPSHOT: KeptFormat = {
  name: 'jfluid',
  extension: '.jfluid',
  description: 'complete profile, for jfluid open and jfluid report',
}

export interface Keeper {
  /** What `e` can write. */
  readonly formats: readonly KeptFormat[]
  /** A name that is not taken yet, for the user to change. */
  nameFor(format: KeptFormat): string
  /** Whether something is there that would be lost. */
  exists(path: string): boolean
  /**
   * Writes what has been recorded so far, whole or not at all; recording goes on.
   *
   * @returns what to tell the user
   * @throws Error whose message the user is shown
   */
  write(format: KeptFormat, path: string): Promise<string>
}
