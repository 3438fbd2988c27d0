// Finds methods of a profile by a text from the user, such as `Foo.bar` or `com.acme.Foo.bar`. Parameters select an overload. `.`, `/` and
// `$` are equivalent separators, as in root names. `by=/orders` finds a row of --by.

import { UsageError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { isAllocation } from '../cct/allocation.ts'
import { SHORT_CALL_NS, SHORT_NAME } from '../cct/merge-samples.ts'
import { hotMethods } from '../cct/snapshot.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import type { ShortMethod } from './short-methods.ts'
import { fullName, isValueName, isWait, signature } from './text.ts'

/** Thrown if no tree contains the method. Without this error, a `--fail-if` with a misspelled method would pass. */
export class NoSuchMethod extends UsageError {
  static sample = () => [
    new NoSuchMethod('OrderServise.place', [
      { class: 'com.acme.shop.OrderService', method: 'place', descriptor: '()V', loader: 'app' },
    ]),
    new NoSuchMethod('by=/order', [{ class: '', method: 'by=/orders', descriptor: '', loader: '' }]),
    new NoSuchMethod('Cart.add(int)', [
      { class: 'com.acme.shop.Cart', method: 'add', descriptor: '', loader: '' },
    ]),
  ]
  readonly hint: string
  /** @param names  names of the profile, for suggestions */
  constructor(subject: string, names: readonly MethodName[]) {
    super(`the profile contains no ${isValue(subject) ? 'row' : 'method'} '${subject}'`)
    const close = closeNames(subject, names)
    const bare = subject.replace(/\(.*$/s, '')
    const isBare = methodMatcher(bare)
    const isOverload = bare !== subject && names.some((name) => name.descriptor === '' && isBare(name))
    if (isValue(subject))
      this.hint =
        close.length > 0
          ? `Use a row of the profile: ${close.join(', ')}`
          : 'Use profiles that were recorded with --by: the profile has no rows of values.'
    else if (isOverload)
      this.hint = `Use '${bare}', without parameters: overloads are one row if a profile has sampled rows.`
    else
      this.hint =
        close.length > 0
          ? `Use a method of the profile with a similar name: ${close.join(', ')}`
          : 'Use a name that the report shows, for example Foo.bar or com.acme.Foo.bar.'
  }
}

/** Thrown if a method has no row of its own, because its calls are short (scheme adaptive). */
export class ShortMethodHasNoRow extends UsageError {
  static sample = () => [
    new ShortMethodHasNoRow('com.acme.Money.add', 'condition'),
    new ShortMethodHasNoRow('com.acme.Money.add', 'condition', 'com.acme.Cart.add'),
    new ShortMethodHasNoRow('com.acme.Money.add', 'callers'),
  ]
  readonly hint: string
  /** @param other  another method with the same name, which has rows */
  constructor(method: string, wanted: ShortUse, other?: string) {
    super(
      `'${method}' has no row of its own: its calls take less than ${SHORT_CALL_NS / 1_000} µs, and samples do not show which short method runs`,
    )
    const record = `record with --time ${shellWord(method)}: its probes then slow it down.`
    this.hint =
      other !== undefined
        ? `Name the class with its package, if you mean ${other}. Or ${record}`
        : wanted === 'condition'
          ? `Name a caller of the method, or root. Or ${record}`
          : `Read the time of its callers, whose rows ${SHORT_NAME.method} contain it. To see its calls, record with --mode count or --scheme b. Or ${record}`
  }
}

/** For what the method was named: a condition about it, or a report of its callers. */
type ShortUse = 'condition' | 'callers'

/**
 * @param names  methods with rows
 * @throws ShortMethodHasNoRow  if the text names a method with short calls
 */
export function refuseShort(
  text: string,
  methods: readonly ShortMethod[] = [],
  wanted: ShortUse,
  names: readonly MethodName[] = [],
): void {
  // The list contains no overloads.
  const matches = methodMatcher(text.replace(/\(.*$/s, ''))
  const found = methods.find((it) => matches({ ...it, descriptor: '', loader: '' }))
  if (found === undefined) return
  const short = `${found.class}.${found.method}`
  const other = names.filter(matches).map(fullName)
  throw new ShortMethodHasNoRow(
    short,
    wanted,
    other.find((it) => it !== short),
  )
}

/** Returns whether the text names a row of --by. */
export function isValue(text: string): boolean {
  return text.startsWith('by=')
}

/** Returns whether the row is a method. A sampled row has no descriptor. */
function isMethod(name: MethodName): boolean {
  return name.class !== '' && !isWait(name) && !isAllocation(name) && !isValueName(name)
}

const dotted = (text: string): string => text.replace(/[/$]/g, '.')

/**
 * Returns a predicate for names that equal the text or end with the text. The text must begin at a package or class name. A row of --by is
 * found by its whole name.
 */
export function methodMatcher(text: string): (name: MethodName) => boolean {
  if (isValue(text)) return (name) => isValueName(name) && name.method.trimEnd() === text.trimEnd()
  const open = text.indexOf('(')
  const wanted = dotted((open < 0 ? text : text.slice(0, open)).trim())
  const parameters = open < 0 ? undefined : text.slice(open).replaceAll(' ', '')
  return (name) => {
    if (!isMethod(name)) return false
    const full = dotted(`${name.class}.${name.method}`)
    if (full !== wanted && !(full.endsWith(wanted) && full[full.length - wanted.length - 1] === '.'))
      return false
    // A method name without class would match the methods of all classes.
    if (!wanted.includes('.')) return false
    if (parameters === undefined) return true
    if (name.descriptor === '') return false
    const written = signature({ ...name, descriptor: name.descriptor.replace(/\).*$/s, ')V') })
    return name.descriptor.startsWith(parameters) || written.replaceAll(' ', '').endsWith(parameters)
  }
}

/** Returns the ids of matching methods in a tree, as `backTraces` expects: one id per method, independent of call sites. */
export function methodsNamed(text: string, tree: Tree, names: (id: number) => MethodName): number[] {
  const matches = methodMatcher(text)
  return hotMethods(tree)
    .map(({ method }) => method)
    .filter((id) => matches(names(id)))
}

/** Returns at most five names with a similar ending, or rows of --by, for "did you mean". */
function closeNames(text: string, names: readonly MethodName[]): string[] {
  const method = dotted(text.replace(/\(.*$/s, '')).split('.').at(-1)?.toLowerCase() ?? ''
  const close = isValue(text)
    ? names.filter(isValueName)
    : names.filter((name) => isMethod(name) && method !== '' && name.method.toLowerCase() === method)
  return [...new Set(close.map(fullName))].slice(0, 5)
}
