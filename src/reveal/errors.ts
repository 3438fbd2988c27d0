// Errors for roots and filters that are malformed, match no method, or match only methods that cannot be instrumented.

import { EX_NOCODE, EX_NOROOT, EX_TEMPFAIL, EX_UNAVAILABLE, JfluidError, UsageError } from '../base/errors.ts'
import { isOtherAgents, isTemporary } from '../base/refusal.ts'
import type { RootOption } from './patterns.ts'

/** Thrown for a malformed `--root`, `--include` or `--exclude`. */
export class BadPattern extends UsageError {
  static sample = () => new BadPattern('--root', 'place', 'it has no class', "Write it as 'Class.method'.")
  readonly hint: string
  constructor(option: string, text: string, reason: string, hint: string) {
    super(`cannot read ${option} '${text}': ${reason}`)
    this.hint = hint
  }
}

/** Thrown if the root's class is loaded, but no loaded class of that name has the root's method. */
export class RootNotFound extends JfluidError {
  static sample = () =>
    new RootNotFound(
      'OrderService.plaze',
      ['com.acme.shop.OrderService'],
      ['com.acme.shop.OrderService.place'],
    )
  readonly exitCode = EX_NOROOT
  readonly hint: string
  /** Text of the message after the name of the root. */
  readonly reason: string
  constructor(
    root: string,
    /** Dotted names of the searched loaded classes. */
    searched: readonly string[],
    /** Suggested roots in the syntax of --root, most similar first. */
    readonly suggestions: readonly string[],
    option: RootOption = 'root',
  ) {
    const where = searched.length === 1 ? searched[0] : `any of ${searched.length} classes of that name`
    super(`${option} '${root}' not found: no such method in ${where}`)
    this.reason = `no such method in ${where}`
    this.hint =
      suggestions.length > 0
        ? `Try --${option} '${suggestions[0]}'${suggestions.length > 1 ? `; also close: ${suggestions.slice(1).join(', ')}` : ''}`
        : 'Name a method that the class itself declares, not an inherited one.'
  }
}

/** Errors that report why no method named by a root can be profiled. */
export type RootProblem =
  | RootNotFound
  | AbstractOrNativeRoot
  | RootNeverInstrumented
  | RootInHiddenClass
  | RootRefused

/** Returns the text of a warning with the error's message and hint. */
export function inOneLine({ message, hint }: RootProblem): string {
  return `${message}. ${hint}`
}

/** Thrown if every method named by the root is abstract or native: it has no bytecode to instrument. */
export class AbstractOrNativeRoot extends JfluidError {
  static sample = () => [
    new AbstractOrNativeRoot('Store.put', 'abstract', ['com.acme.shop.DiskStore.put']),
    new AbstractOrNativeRoot('Store.sync', 'native', []),
  ]
  readonly exitCode = EX_NOCODE
  readonly hint: string
  readonly reason: string
  constructor(
    root: string,
    readonly kind: 'abstract' | 'native',
    /** For an abstract root, the methods that implement it, in the syntax of --root; empty for a native root. */
    readonly implementations: readonly string[],
    option: RootOption = 'root',
  ) {
    super(`${option} '${root}' is ${kind}: it has no bytecode to instrument`)
    this.reason = `it is ${kind}`
    this.hint =
      kind === 'native'
        ? 'Name a Java method that calls this method.'
        : implementations.length > 0
          ? `Name an implementation of the method: ${implementations.map((it) => `--${option} '${it}'`).join(', ')}`
          : 'Name an implementation of the method; no loaded class has one yet.'
  }
}

/** Thrown if every method named by the root is excluded from instrumentation: an intrinsic, or a method that the probes use. */
export class RootNeverInstrumented extends JfluidError {
  static sample = () => new RootNeverInstrumented('java.lang.Math.max')
  readonly exitCode = EX_NOCODE
  readonly hint = 'Name a method that calls this method.'
  readonly reason = 'it cannot have probes'
  constructor(root: string, option: RootOption = 'root') {
    super(`${option} '${root}' cannot have probes: the compiler replaces it, or the probes use it`)
  }
}

/** Thrown if the root's class name is the name of a hidden class only. */
export class RootInHiddenClass extends JfluidError {
  static sample = () => new RootInHiddenClass('Rules.apply', 'com.acme.shop.Rules')
  readonly exitCode = EX_NOCODE
  readonly hint = 'Name a method that calls this method, or that this method calls.'
  readonly reason: string
  /** @param hidden  name of the class, without the number that the JVM adds */
  constructor(root: string, hidden: string, option: RootOption = 'root') {
    const because = `${hidden} is a hidden class, and the JVM allows no change of hidden classes`
    super(`${option} '${root}' cannot have probes: ${because}`)
    this.reason = `it cannot have probes: ${because}`
  }
}

/** Thrown if no method of the root could be instrumented: the JVM refused the changed class, or the code is not suitable. */
export class RootRefused extends JfluidError {
  static sample = () =>
    new RootRefused(
      'OrderService.place',
      new Map([['com.acme.shop.OrderService.place', 'the method is too long']]),
    )
  readonly exitCode: number
  readonly hint: string
  readonly reason: string
  /** @param methods  reasons, keyed by the methods that the root names */
  constructor(root: string, methods: ReadonlyMap<string, string>, option: RootOption = 'root') {
    const [[name, why] = ['', ''], ...others] = methods
    const more = others.length === 0 ? '' : ` (and ${others.length} more of its methods)`
    const because = `${name}: ${why}${more}`
    super(`${option} '${root}' could not be instrumented: ${because}`)
    this.reason = `could not be instrumented: ${because}`
    this.exitCode = isTemporary(why) ? EX_TEMPFAIL : EX_UNAVAILABLE
    if (isOtherAgents(why))
      this.hint = `Run the program without the other agent that changes this class (jfluid doctor names the agents), or name a method of another class, for example a caller.`
    else if (isTemporary(why))
      this.hint =
        'Raise the limits of the JVM (ulimit -u and pids.max for threads), or try again when it uses fewer threads and less memory.'
    else this.hint = 'Name another method, for example a caller of this one.'
  }
}

/** Thrown if the user names a new root during a session and no loaded class has the root's class name. */
export class RootNotLoaded extends JfluidError {
  static sample = () => new RootNotLoaded('OrderServise.place', ['com.acme.shop.OrderService.place'])
  readonly exitCode = EX_NOROOT
  readonly hint: string
  constructor(root: string, near: readonly string[]) {
    super(`root '${root}' not found: no loaded class has this name`)
    this.hint =
      near.length > 0
        ? `Use a loaded class with a similar name: ${near.join(', ')}`
        : 'Wait until the program has loaded the class, or start a new session with this root.'
  }
}
