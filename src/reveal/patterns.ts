// Syntax and matching of --root, --include and --exclude.
//
// Shells expand `$`, and users paste names from stack traces, imports and class files. So `.`,
// `/` and `$` are the same separator here: names are compared in dotted form, and a pattern does not distinguish
// packages from nested classes. The package may be omitted:
// `Foo.process` matches a class `Foo` of any package. Only the matches of the highest rank (RANK_…) are used, and the report shows their
// number.

import { PRIMITIVES } from '../base/primitives.ts'
import { BadPattern } from './errors.ts'

/** Rank of the match between a class name and a root's class. If several classes match, only those of the highest rank are used. */
export const RANK_NONE = 0
export const RANK_NESTED = 1 // `Inner` for pkg.Outer.Inner
export const RANK_SIMPLE = 2 // `Outer.Inner` for pkg.Outer.Inner
export const RANK_FULL = 3

export interface RootPattern {
  /** Text as written by the user. */
  readonly text: string
  /** Dotted class name, possibly without its package; may have wildcards. */
  readonly className: string
  /** Method name, `<init>` for `new`; may have wildcards. */
  readonly method: string
  /** Text between the parentheses; null if the pattern has no parentheses. */
  readonly parameters: string | null
  /** Return descriptor, if one was written after the parentheses. */
  readonly returns: string | null
  /** Option that contained the pattern, for messages; absent for --root. */
  readonly option?: 'region'
}

/** Word before the pattern in error messages: "root 'Foo.process'". */
export type RootOption = 'root' | 'region'

export interface ClassPattern {
  readonly text: string
  /** Expression that matches the class names of the pattern. */
  readonly expression: RegExp
}

/** Converts an internal name to the dotted form for patterns: `a/B$C` to `a.B.C`. */
export function dotted(internalName: string): string {
  return internalName.replace(/[/$]/g, '.')
}

const ROOT_HINT = "Write it as 'Class.method', 'pkg.Outer.Inner.method' or 'Class.method(int, String)'."
const CLASS_HINT = "Write a class or package pattern such as 'com.foo.*', 'com.foo.**' or '*Service'."

/** @throws BadPattern */
export function parseRoot(text: string): RootPattern {
  return parseMethod(text, (reason) => new BadPattern('root', text, reason, ROOT_HINT))
}

/** Parses a method pattern of an option other than --root. @throws BadPattern */
export function parseOther(text: string): RootPattern {
  return parseMethod(text, (reason) => new BadPattern('the method', text, reason, ROOT_HINT))
}

/** Parses a method pattern. @throws the error created by `bad` */
export function parseMethod(text: string, bad: (reason: string) => Error): RootPattern {
  const trimmed = text.trim()
  const open = trimmed.indexOf('(')
  let head = trimmed
  let parameters: string | null = null
  let returns: string | null = null
  if (open >= 0) {
    const close = trimmed.indexOf(')', open)
    if (close < 0) throw bad("its '(' is not closed")
    head = trimmed.slice(0, open).trimEnd()
    parameters = trimmed.slice(open + 1, close).trim()
    const rest = trimmed.slice(close + 1).trim()
    if (rest !== '') {
      if (!/^(?:\[*(?:[BCDFIJSZ]|L[^;]+;)|V)$/.test(rest)) throw bad(`'${rest}' is not a return descriptor`)
      returns = rest
    }
  } else if (trimmed.includes(')')) throw bad("its ')' has no '('")

  // Other tools print `Class#method` and `Class::method`.
  const name = head.replace(/::|#/, '.').replaceAll('/', '.')
  const dot = name.lastIndexOf('.')
  if (dot < 0) throw bad('it names no class and method')
  const className = dotted(name.slice(0, dot))
  let method = name.slice(dot + 1)
  if (method === 'new') method = '<init>'
  if (method === '') throw bad('the method name is missing')
  // A class name may begin with a separator, since `$Proxy12` is a class name and `$` is a separator.
  if (className === '' || name.startsWith('.')) throw bad('the class name is missing')
  // Method names may contain blanks: Kotlin allows names in backticks.
  if (/\s/.test(className)) throw bad('a class name contains no blanks')
  if (/[;[<>():]/.test(className)) throw bad(`'${className}' is not a class name`)
  if (/[<>]/.test(method) && !/^<(?:cl)?init>$/.test(method)) {
    throw bad(`'${method}' is not a method name`)
  }
  if (name.slice(0, dot).endsWith('.') || /\.\./.test(name.slice(0, dot)))
    throw bad('a part of the name is empty')
  return { text, className, method, parameters, returns }
}

/** @throws BadPattern */
export function parseClassPattern(option: 'include' | 'exclude', text: string): ClassPattern {
  const bad = (reason: string) => new BadPattern(option, text, reason, CLASS_HINT)
  const trimmed = text.trim()
  if (trimmed === '') throw bad('it is empty')
  if (/\s/.test(trimmed)) throw bad('a name contains no blanks')
  if (/[^\w$.*/\-+\u0080-\u{10ffff}]/u.test(trimmed))
    throw bad('it contains characters that are invalid in a class name')
  if (/\*{3,}/.test(trimmed)) throw bad("use '*' or '**'")
  const name = trimmed.replaceAll('/', '.')
  if (/^\.|\.$|\.\./.test(name)) throw bad('a part of the name is empty')
  const simple = !/[./]/.test(trimmed)
  // In a class pattern, `*` matches the classes of one package, including their nested classes. The dotted form does not show whether
  // a class is nested, so a class pattern is compared with the name in which only `/` is replaced by `.` and `$` is kept.
  const body = globOf(name.replaceAll('$', '.'), '[^.]*')
  return { text, expression: new RegExp(`^${simple ? '(?:.*[.$])?' : ''}${body}(?:\\$.*)?$`, 'su') }
}

/** Returns whether an include or exclude pattern matches this class (internal name). */
export function matchesClass(pattern: ClassPattern, internalName: string): boolean {
  return pattern.expression.test(internalName.replaceAll('/', '.'))
}

/** Returns the rank of the match between a class and the class of a root. */
export function rootRank(root: Pick<RootPattern, 'className'>, internalName: string): number {
  const name = dotted(internalName)
  if (root.className.includes('*')) {
    return wildcard(root.className).test(name) ? RANK_FULL : RANK_NONE
  }
  if (name === root.className) return RANK_FULL
  if (!name.endsWith(root.className)) return RANK_NONE
  switch (internalName[name.length - root.className.length - 1]) {
    case '/':
      return RANK_SIMPLE
    case '$':
      return RANK_NESTED
    default:
      return RANK_NONE
  }
}

/** Returns whether a method of a matching class matches the root. */
export function matchesMethod(root: RootPattern, name: string, descriptor: string): boolean {
  if (root.method.includes('*')) {
    // `Foo.*` means the methods of Foo, not its constructors and initialisers.
    if (name.startsWith('<') || !wildcard(root.method).test(name)) return false
  } else if (name !== root.method) return false
  if (root.parameters === null) return true
  const close = descriptor.indexOf(')')
  if (root.returns !== null && descriptor.slice(close + 1) !== root.returns) return false
  const parameters = descriptor.slice(1, close)
  if (root.parameters === parameters) return true
  const written = root.parameters === '' ? [] : root.parameters.split(',').map((it) => it.trim())
  const actual = readableParameters(descriptor)
  return written.length === actual.length && written.every((it, i) => fitsType(it, actual[i]))
}

/** Returns `(I[Ljava/lang/String;)V` as `['int', 'java.lang.String[]']`. */
export function readableParameters(descriptor: string): string[] {
  const found: string[] = []
  for (const [type] of descriptor.slice(1, descriptor.indexOf(')')).matchAll(/\[*(?:[BCDFIJSZ]|L[^;]+;)/g)) {
    const element = type.replace(/^\[+/, '')
    const name = PRIMITIVES[element] ?? dotted(element.slice(1, -1))
    found.push(name + '[]'.repeat(type.length - element.length))
  }
  return found
}

function fitsType(written: string, actual: string): boolean {
  const name = dotted(written).replace('...', '[]')
  return actual === name || actual.endsWith(`.${name}`)
}

/** Compiles wildcards: `*` matches any text without dots, `**` any text. A pattern without dots matches any package. */
function wildcard(pattern: string): RegExp {
  const anywhere = /^\*?[^.*]*\*?$/.test(pattern) ? '(?:.*\\.)?' : ''
  return new RegExp(`^${anywhere}${globOf(pattern, '[^.]*')}$`, 'su')
}

/** Converts wildcards to a regular expression. `.` also matches `$`, since users write nested classes with `.` or `$`. */
function globOf(pattern: string, star: string): string {
  return pattern
    .split(/(\*\*?)/)
    .map((part) => {
      if (part === '**') return '.*'
      if (part === '*') return star
      return part.replace(/[\\^$+?()[\]{}|-]/g, '\\$&').replaceAll('.', '[.$]')
    })
    .join('')
}
