// Errors of profile files.

import { EX_CANTCREAT, EX_DATAERR, EX_NOINPUT, JfluidError, messageOf } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { autosavedBeside } from './autosaved.ts'

/** The file is missing or not readable. */
export class CannotReadProfile extends JfluidError {
  static sample = () => [
    new CannotReadProfile('/srv/app.jfluid', 'ENOENT'),
    new CannotReadProfile('/srv/app.jfluid', 'EACCES'),
  ]
  readonly exitCode = EX_NOINPUT
  readonly hint: string
  constructor(path: string, code: string) {
    super(`cannot read ${path}: ${reasonOf(code)}`)
    const autosaved = code === 'ENOENT' ? autosavedBeside(path) : undefined
    if (autosaved !== undefined) {
      this.hint = `Read the autosaved profile, because the recording still runs or did not end normally: jfluid report ${shellWord(autosaved)}`
      return
    }
    this.hint =
      code === 'ENOENT'
        ? 'Check the path, or record a profile first: jfluid record <pid> --root <method> --out <file>'
        : 'Give the path of a .jfluid file that you may read.'
  }
}

/** The file is not a `.jfluid` file. */
export class NotAProfile extends JfluidError {
  static sample = () => new NotAProfile('app.json')
  readonly exitCode = EX_DATAERR
  readonly hint = 'Give a file that jfluid has written with: jfluid record <pid> --root <method> --out <file>'
  constructor(path: string) {
    super(`${path} is not a jfluid profile`)
  }
}

/** The `.jfluid` file is truncated or corrupt. */
export class CorruptProfile extends JfluidError {
  static sample = () => new CorruptProfile('/tmp/app.jfluid', 'it ends too early')
  readonly exitCode = EX_DATAERR
  readonly hint = 'Copy the file again from its origin, or record again.'
  constructor(path: string, problem: string) {
    super(`${path} is a damaged jfluid profile: ${problem}`)
  }
}

/** The file has a newer format than this version supports. */
export class NewerProfile extends JfluidError {
  static sample = () => new NewerProfile('/tmp/app.jfluid', 9, 8)
  readonly exitCode = EX_DATAERR
  readonly hint = 'Open the file with the jfluid that wrote it, or update this jfluid.'
  constructor(path: string, version: number, known: number) {
    super(`${path} has profile format ${version}, and this jfluid reads formats up to ${known}`)
  }
}

/** The profile cannot be written to the given path. */
export class CannotWriteProfile extends JfluidError {
  static sample = () => [
    new CannotWriteProfile('/srv/app.jfluid', 'ENOSPC'),
    new CannotWriteProfile('/srv/app.jfluid', 'EACCES'),
  ]
  readonly exitCode = EX_CANTCREAT
  readonly hint: string
  constructor(path: string, code: string) {
    super(`cannot write ${path}: ${reasonOf(code)}`)
    this.hint =
      code === 'ENOSPC' || code === 'EDQUOT'
        ? 'Free some space, or choose another directory with --out.'
        : 'Choose with --out a directory that exists and that you may write to.'
  }
}

/**
 * Error code of jfluid, not of the operating system: the path contains a link or pipe that another user owns. jfluid does not use it.
 */
export const PLANTED = 'PLANTED'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  [PLANTED]: 'the path is a link or a pipe of another user, in a directory where all users may create files',
  EISDIR: 'it is a directory',
  ENOTDIR: 'part of the path is not a directory',
  ENOSPC: 'no space left on the device',
  EDQUOT: 'disk quota exceeded',
  EFBIG: 'the file would exceed the size limit',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'its symbolic links form a cycle',
  EIO: 'input/output error of the disk or the network',
  EROFS: 'the file system is read-only',
}

/** Returns a readable text for the code of a system error. */
export function reasonOf(code: string): string {
  return REASONS[code] ?? code
}

/** Returns the `code` of a system error, such as `EACCES`. */
export function errorCode(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return messageOf(error)
}
