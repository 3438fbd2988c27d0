// Finds methods of a profile by a text from the user, such as `Foo.bar` or `com.acme.Foo.bar`. Parameters select an overload. `.`, `/` and
// `$` are equivalent separators, as in root names.

import { UsageError } from '../base/errors.ts'
import { hotMethods } from '../cct/snapshot.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import { isWait, signature } from './text.ts'

/** Thrown if no tree contains the method. Without this error, a `--fail-if` with a misspelled method would pass. */
export class NoSuchMethod extends UsageError {
  static sample = () => new NoSuchMethod('OrderServise.place', ['com.acme.shop.OrderService.place'])
  readonly hint: string
  constructor(method: string, close: readonly string[]) {
    super(`the profile contains no method '${method}'`)
    this.hint =
      close.length > 0
        ? `Use a method of the profile with a similar name: ${close.join(', ')}`
        : 'Use a name that the report shows, for example Foo.bar or com.acme.Foo.bar.'
  }
}

const dotted = (text: string): string => text.replace(/[/$]/g, '.')

/** Returns a predicate for names that equal the text or end with the text. The text must begin at a package or class name. */
export function methodMatcher(text: string): (name: MethodName) => boolean {
  const open = text.indexOf('(')
  const wanted = dotted((open < 0 ? text : text.slice(0, open)).trim())
  const parameters = open < 0 ? undefined : text.slice(open).replaceAll(' ', '')
  return (name) => {
    if (isWait(name) || name.descriptor === '') return false
    const full = dotted(`${name.class}.${name.method}`)
    if (full !== wanted && !(full.endsWith(wanted) && full[full.length - wanted.length - 1] === '.'))
      return false
    // A method name without class would match the methods of all classes.
    if (!wanted.includes('.')) return false
    if (parameters === undefined) return true
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

/** Returns at most five names with a similar ending, for "did you mean". */
export function closeMethods(text: string, names: Iterable<MethodName>): string[] {
  const method = dotted(text.replace(/\(.*$/s, '')).split('.').at(-1)?.toLowerCase() ?? ''
  const found = new Set<string>()
  for (const name of names) {
    if (found.size === 5) break
    if (method === '' || name.descriptor === '' || isWait(name)) continue
    if (name.method.toLowerCase() === method) found.add(`${name.class}.${name.method}`)
  }
  return [...found]
}
