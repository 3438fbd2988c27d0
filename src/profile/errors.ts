// What can go wrong with the file of a profile.

import { EX_CANTCREAT, EX_DATAERR, EX_NOINPUT, JfluidError, messageOf } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { autosavedBeside } from './autosaved.ts'

/** The file is missing, or may not be read. */
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

/** Something else than a `.jfluid` file. */
export class NotAProfile extends JfluidError {
  static sample = () => new NotAProfile('app.json')
  readonly exitCode = EX_DATAERR
  readonly hint = 'Give a file that jfluid has written with: jfluid record <pid> --root <method> --out <file>'
  constructor(path: string) {
    super(`${path} is not a jfluid profile`)
  }
}

/** A `.jfluid` file that was cut short or changed. */
export class CorruptProfile extends JfluidError {
  static sample = () => new CorruptProfile('/tmp/app.jfluid', 'it ends too early')
  readonly exitCode = EX_DATAERR
  readonly hint = 'Copy the file again from its origin, or record again.'
  constructor(path: string, problem: string) {
    super(`${path} is a damaged jfluid profile: ${problem}`)
  }
}

/** Written by a jfluid that knows more than this one. */
export class NewerProfile extends JfluidError {
  static sample = () => new NewerProfile('/tmp/app.jfluid', 9, 8)
  readonly exitCode = EX_DATAERR
  readonly hint = 'Open the file with the jfluid that wrote it, or update this jfluid.'
  constructor(path: string, version: number, known: number) {
    super(`${path} has profile format ${version}, and this jfluid reads formats up to ${known}`)
  }
}

/** The profile cannot be put where the user wants it. */
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

/** No code of the system: what lies at a path is followed or written to by nobody but who has put it there. */
export const PLANTED = 'PLANTED'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  [PLANTED]: 'another user has put a link or a pipe there, in a directory where anybody may',
  EISDIR: 'it is a directory',
  ENOTDIR: 'part of the path is not a directory',
  ENOSPC: 'no space left on the device',
  EDQUOT: 'disk quota exceeded',
  EFBIG: 'the file is larger than it may be here',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'its symbolic links lead back to themselves',
  EIO: 'the disk or the network behind it fails',
  EROFS: 'the file system is read-only',
}

/** Of the code of a system error, what a person reads. */
export function reasonOf(code: string): string {
  return REASONS[code] ?? code
}

/** The `code` of a system error, `EACCES`. */
export function errorCode(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return messageOf(error)
}
