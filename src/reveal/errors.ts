// Errors of revelation: what a user can mistype in a root or a filter.

import { EX_NOCODE, EX_NOROOT, EX_USAGE, JfluidError } from '../base/errors.ts'

/** A `--root`, `--include` or `--exclude` that cannot be read. */
export class BadPattern extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint: string
  constructor(option: string, text: string, reason: string, hint: string) {
    super(`cannot read ${option} '${text}': ${reason}`)
    this.hint = hint
  }
}

/** The root's class is loaded, but none of the classes it names has such a method. */
export class RootNotFound extends JfluidError {
  readonly exitCode = EX_NOROOT
  readonly hint: string
  constructor(
    root: string,
    /** Dotted names of the loaded classes that were searched. */
    searched: readonly string[],
    /** Complete roots that would do, closest first. */
    readonly suggestions: readonly string[],
  ) {
    const where = searched.length === 1 ? searched[0] : `any of ${searched.length} classes of that name`
    super(`root '${root}' not found: no such method in ${where}`)
    this.hint =
      suggestions.length > 0
        ? `Try --root '${suggestions[0]}'${suggestions.length > 1 ? `; also close: ${suggestions.slice(1).join(', ')}` : ''}`
        : 'Name a method that the class itself declares.'
  }
}

/** Every method the root names is abstract or native: there is no bytecode to instrument. */
export class AbstractOrNativeRoot extends JfluidError {
  readonly exitCode = EX_NOCODE
  readonly hint: string
  constructor(
    root: string,
    readonly kind: 'abstract' | 'native',
    /** For an abstract root the methods that implement it, as roots; for a native one nothing. */
    readonly implementations: readonly string[],
  ) {
    super(`root '${root}' is ${kind}: it has no bytecode to instrument`)
    this.hint =
      kind === 'native'
        ? 'Name a Java method that calls it.'
        : implementations.length > 0
          ? `Name an implementation: ${implementations.map((it) => `--root '${it}'`).join(', ')}`
          : 'Name an implementation; no loaded class has one yet.'
  }
}
