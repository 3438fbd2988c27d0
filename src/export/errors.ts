// Errors of an export.

import { EX_CANTCREAT, JfluidError, UsageError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { reasonOf } from '../profile/errors.ts'

/** `--format` has an unknown name. */
export class UnknownFormat extends UsageError {
  static sample = () => new UnknownFormat('bmp', ['json', 'csv'])
  readonly hint: string
  constructor(name: string, known: readonly string[]) {
    super(`unknown export format ${JSON.stringify(name)}`)
    this.hint = `Use one of: ${known.join(', ')}`
  }
}

/** There is no `--format`, and the file name has no known extension. */
export class NoFormat extends UsageError {
  static sample = () => new NoFormat('app.bmp', ['json', 'csv'])
  readonly hint: string
  constructor(path: string | undefined, known: readonly string[]) {
    const why =
      path === undefined ? 'there is no --format' : `no format has the extension of ${JSON.stringify(path)}`
    super(`no export format is given: ${why}`)
    this.hint = `Add --format with one of: ${known.join(', ')}`
  }
}

/** A binary format would be written to a terminal. */
export class BinaryOnTerminal extends UsageError {
  static sample = () => new BinaryOnTerminal('pprof', '.pb.gz')
  readonly hint: string
  constructor(format: string, extension: string) {
    super(`format ${format} is binary, and the output is a terminal`)
    this.hint = `Write to a file: --out profile${extension}`
  }
}

/** The export cannot be written to its destination. */
export class CannotWriteExport extends JfluidError {
  static sample = () => new CannotWriteExport('/srv/app.html', 'EACCES')
  readonly exitCode = EX_CANTCREAT
  readonly hint =
    'Choose with --out or --html a directory that you may write to and that has room. An existing file is unchanged.'
  constructor(path: string, code: string) {
    super(`cannot write ${path}: ${reasonOf(code)}`)
  }
}

/** The profile has no traced calls, but the format needs them. */
export class NoTraceInProfile extends UsageError {
  static sample = () => new NoTraceInProfile('/tmp/app.jfluid', 'trace-events')
  readonly hint =
    'Record with --trace 3 to keep all events of the first three calls of the root, or use another format.'
  constructor(path: string, format: string) {
    super(`cannot export as ${format}: ${path} contains no traced call`)
  }
}

/** The profile has regions only, but the format needs a tree. */
export class NoTreeInProfile extends UsageError {
  static sample = () => new NoTreeInProfile('/tmp/app.jfluid', 'csv')
  readonly hint: string
  constructor(path: string, format: string) {
    super(`cannot export as ${format}: ${path} contains times of regions, and no tree`)
    this.hint = `Use --format json or markdown, or read the profile with: jfluid report ${shellWord(path)}`
  }
}
