// Interface of the live view for writing files.

export interface KeptFormat {
  readonly name: string
  /** File name extension, with its dot. */
  readonly extension: string
  /** Description of the format, and the tools that open it. */
  readonly description: string
}

/** Format of a file saved with the key `s`. */
export const SNAPSHOT: KeptFormat = {
  name: 'jfluid',
  extension: '.jfluid',
  description: 'complete profile, for jfluid open and jfluid report',
}

export interface Keeper {
  /** Formats offered for export by the key `e`. */
  readonly formats: readonly KeptFormat[]
  /** Returns an unused file name as a suggestion. */
  nameFor(format: KeptFormat): string
  /** Returns whether a file with this path exists. */
  exists(path: string): boolean
  /**
   * Writes the current profile to a file, atomically. The recording continues.
   *
   * @returns message for the user
   * @throws Error with a message for the user
   */
  write(format: KeptFormat, path: string): Promise<string>
}
